#include "unwind_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_image.h"
#include "inject/eh_frame.h"
#include "inject/unwind_rows.h"

struct rules {
	bool known;
	uint64_t start, end; /* virtual addresses of the executable segment */
	struct unwind_rows rows;
};

struct unwind_files {
	struct rules *rules; /* owns; by module id */
	uint32_t max;
	uint64_t bytes;
};

struct unwind_files *unwind_files_create(void)
{
	return calloc(1, sizeof(struct unwind_files));
}

void unwind_files_destroy(struct unwind_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->max; i++)
		if (files->rules[i].known)
			unwind_rows_fini(&files->rules[i].rows);
	free(files->rules);
	free(files);
}

bool unwind_files_has(const struct unwind_files *files, uint32_t module_id)
{
	return module_id < files->max && files->rules[module_id].known;
}

/* ---- rules -------------------------------------------------------------------------------------- */

/* The compiler reads through copies that cannot fault. */
static void compile(struct unwind_files *files, struct rules *rules, int fd)
{
	struct elf_image image = {0};
	const Elf64_Phdr *code, *header;

	if (!elf_image_read(&image, fd))
		return;
	code = elf_image_segment(&image, PT_LOAD, PF_X);
	header = elf_image_segment(&image, PT_GNU_EH_FRAME, 0);
	if (code && header && elf_image_map(&image, fd)) {
		uint64_t base = (uint64_t)(uintptr_t)image.base - image.low;

		unwind_rows_fini(&rules->rows);
		unwind_rows_init(&rules->rows, UNWIND_FILES_BYTES_MAX - files->bytes);
		if (eh_frame_compile(base + header->p_vaddr, header->p_filesz, base + code->p_vaddr,
				     base + code->p_vaddr + code->p_filesz, &rules->rows) == 0) {
			rules->start = code->p_vaddr;
			rules->end = code->p_vaddr + code->p_filesz;
			files->bytes += unwind_rows_trim(&rules->rows);
		}
	}
	elf_image_fini(&image);
}

int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct elf_file *file)
{
	if (module_id >= files->max) {
		uint32_t max = module_id * 2 + 64;
		struct rules *rules = realloc(files->rules, max * sizeof(*rules));

		if (!rules)
			return -ENOMEM;
		memset(rules + files->max, 0, (max - files->max) * sizeof(*rules));
		files->rules = rules;
		files->max = max;
	}
	struct rules *rules = &files->rules[module_id];
	if (rules->known)
		return 0;
	rules->known = true;
	unwind_rows_init(&rules->rows, 0);
	if (file && files->bytes < UNWIND_FILES_BYTES_MAX && elf_file_fd(file) >= 0)
		compile(files, rules, elf_file_fd(file));
	return 0;
}

bool unwind_files_find(const struct unwind_files *files, uint32_t module_id, uint64_t vaddr,
		       uint32_t *rule)
{
	const struct rules *rules = module_id < files->max ? &files->rules[module_id] : NULL;

	if (!rules || !rules->known || vaddr < rules->start || vaddr >= rules->end)
		return false;
	uint64_t pc = vaddr - rules->start;
	size_t low = 0, high = rules->rows.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rules->rows.rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*rule = rules->rows.rows[low - 1].rule;
	return true;
}
