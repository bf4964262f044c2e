#include "unwind_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_image.h"
#include "inject/eh_frame.h"
#include "inject/eh_frame_lookup.h"
#include "inject/unwind_rows.h"

#define CACHE_ENTRIES (1u << 15) /* a power of two */
#define ROWS_MAX      (1u << 16) /* bytes of one function's */

struct unwind_file {
	struct elf_image image;
	struct eh_frame_lookup lookup;
};

/* One address's rule; mostly they are those of calls, which come again and again. */
struct cached {
	uint64_t vaddr;
	uint32_t module; /* id + 1; 0: free */
	uint32_t rule;
};

struct unwind_files {
	struct unwind_file **files; /* owns; by module id; NULL: not known, or &no_rules */
	uint32_t max, nr_mapped;
	uint64_t bytes; /* of lists of functions */
	uint64_t nr_reads;
	struct cached cache[CACHE_ENTRIES];
	struct unwind_rows rows; /* owns */
	struct eh_frame_found found;
};

static struct unwind_file no_rules; /* stands for a file that has none */

struct unwind_files *unwind_files_create(void)
{
	struct unwind_files *files = calloc(1, sizeof(*files));

	if (files)
		unwind_rows_init(&files->rows, ROWS_MAX);
	return files;
}

static void unmap(struct unwind_file *file)
{
	eh_frame_lookup_fini(&file->lookup);
	elf_image_fini(&file->image);
	free(file);
}

static void forget_all(struct unwind_files *files)
{
	for (uint32_t i = 0; i < files->max; i++) {
		if (files->files[i] && files->files[i] != &no_rules)
			unmap(files->files[i]);
		files->files[i] = NULL;
	}
	files->nr_mapped = 0;
	files->bytes = 0;
}

void unwind_files_destroy(struct unwind_files *files)
{
	if (!files)
		return;
	forget_all(files);
	free(files->files);
	unwind_rows_fini(&files->rows);
	free(files);
}

bool unwind_files_has(const struct unwind_files *files, uint32_t module_id)
{
	return module_id < files->max && files->files[module_id];
}

uint64_t unwind_files_reads(const struct unwind_files *files)
{
	return files->nr_reads;
}

/* ---- files -------------------------------------------------------------------------------------- */

static bool map_image(struct elf_image *image, struct elf_file *file)
{
	size_t size;
	const void *memory = elf_file_memory(file, &size);

	if (memory)
		return elf_image_borrow(image, memory, size);
	return elf_image_read(image, elf_file_fd(file)) && elf_image_map(image, elf_file_fd(file));
}

static bool has_place(const struct elf_image *image, uint64_t vaddr, uint64_t size)
{
	return vaddr >= image->low && vaddr - image->low <= image->span &&
	       size <= image->span - (vaddr - image->low);
}

/* Static programs have no header (the linker writes none), but sections, which their makers may have removed. */
static bool find_functions(struct unwind_file *file, struct elf_file *elf)
{
	const struct elf_image *image = &file->image;
	const Elf64_Phdr *header = elf_image_segment(image, PT_GNU_EH_FRAME, 0);
	uint64_t base = (uint64_t)(uintptr_t)image->base - image->low, vaddr, size;

	if (header)
		return eh_frame_lookup_init(&file->lookup, base + header->p_vaddr,
					    header->p_filesz) == 0;
	return elf_file_section_place(elf, ".eh_frame", &vaddr, &size) &&
	       has_place(image, vaddr, size) &&
	       eh_frame_lookup_init_frames(&file->lookup, base + vaddr, size) == 0;
}

/* 0 or -ENOMEM. *file: &no_rules where there are none. */
static int map_file(struct unwind_files *files, struct elf_file *elf, struct unwind_file **file)
{
	struct unwind_file *new_file = calloc(1, sizeof(*new_file));

	*file = &no_rules;
	if (!new_file)
		return -ENOMEM;
	if (!map_image(&new_file->image, elf) || !find_functions(new_file, elf) ||
	    eh_frame_lookup_bytes(&new_file->lookup) > UNWIND_FILES_BYTES_MAX - files->bytes) {
		unmap(new_file);
		return 0;
	}
	files->bytes += eh_frame_lookup_bytes(&new_file->lookup);
	files->nr_mapped++;
	*file = new_file;
	return 0;
}

int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct elf_file *file)
{
	if (module_id >= files->max) {
		uint32_t max = module_id * 2 + 64;
		struct unwind_file **bigger = realloc(files->files, max * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		memset(bigger + files->max, 0, (max - files->max) * sizeof(*bigger));
		files->files = bigger;
		files->max = max;
	}
	if (files->files[module_id])
		return 0;
	if (files->nr_mapped == UNWIND_FILES_MAX)
		forget_all(files);
	files->files[module_id] = &no_rules;
#if defined(__x86_64__)
	return file ? map_file(files, file, &files->files[module_id]) : 0;
#else
	return 0;
#endif
}

/* ---- rules -------------------------------------------------------------------------------------- */

/* The rule of the last row that begins at or below the address; for an address in no function that there is none. */
static uint32_t read_rule(struct unwind_files *files, const struct unwind_file *file,
			  uint64_t vaddr)
{
	uint64_t address = (uint64_t)(uintptr_t)file->image.base - file->image.low + vaddr;
	const struct frame_description *function = &files->found.description;
	uint32_t rule = unwind_rule_special(UNWIND_GAP);
	struct unwind_rows *rows = &files->rows;

	files->nr_reads++;
	rows->nr = 0;
	rows->error = 0;
	if (!eh_frame_lookup_find(&file->lookup, address, &files->found) ||
	    !eh_frame_rows(function, rows))
		return rule;
	for (size_t i = 0; i < rows->nr && rows->rows[i].pc <= address - function->start; i++)
		rule = rows->rows[i].rule;
	return rule;
}

static struct cached *slot_of(struct unwind_files *files, uint32_t module_id, uint64_t vaddr)
{
	uint64_t hash = (vaddr ^ (uint64_t)module_id << 40) * 0x9e3779b97f4a7c15ull;

	return &files->cache[hash >> 32 & (CACHE_ENTRIES - 1)];
}

bool unwind_files_find(struct unwind_files *files, uint32_t module_id, uint64_t vaddr,
		       uint32_t *rule)
{
	const struct unwind_file *file = module_id < files->max ? files->files[module_id] : NULL;

	if (!file || file == &no_rules || !has_place(&file->image, vaddr, 1))
		return false;
	struct cached *cached = slot_of(files, module_id, vaddr);
	if (cached->module != module_id + 1 || cached->vaddr != vaddr)
		*cached = (struct cached){vaddr, module_id + 1, read_rule(files, file, vaddr)};
	*rule = cached->rule;
	return true;
}
