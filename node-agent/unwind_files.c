#include "unwind_files.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "inject/eh_frame.h"
#include "inject/unwind_rows.h"

#define PHDRS_MAX 64u
#define SPAN_MAX  (1ull << 32) /* bytes from the first segment to the last */
#define PAGE      4096ull

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

/* ---- the file as it would be loaded -------------------------------------------------------------- */

struct image {
	Elf64_Phdr segments[PHDRS_MAX];
	uint32_t nr_segments;
	uint64_t low, span; /* virtual addresses, whole pages */
	char *base;         /* where low lies in our memory */
};

static bool read_segments(int fd, struct image *image)
{
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
	    header.e_phnum > PHDRS_MAX)
		return false;
	size_t size = header.e_phnum * sizeof(Elf64_Phdr);
	image->nr_segments = header.e_phnum;
	return pread(fd, image->segments, size, (off_t)header.e_phoff) == (ssize_t)size;
}

static const Elf64_Phdr *find_segment(const struct image *image, uint32_t type, uint32_t flags)
{
	for (uint32_t i = 0; i < image->nr_segments; i++)
		if (image->segments[i].p_type == type &&
		    (image->segments[i].p_flags & flags) == flags)
			return &image->segments[i];
	return NULL;
}

static bool find_span(struct image *image)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t end = segment->p_vaddr + segment->p_filesz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (end < segment->p_vaddr || end > INT64_MAX)
			return false;
		low = segment->p_vaddr < low ? segment->p_vaddr : low;
		high = end > high ? end : high;
	}
	if (high <= low || high - low > SPAN_MAX)
		return false;
	image->low = low & ~(PAGE - 1);
	image->span = ((high + PAGE - 1) & ~(PAGE - 1)) - image->low;
	return true;
}

/* What the file holds of its segments, at the distances from each other that they have when it runs. The rules' compiler reads them
 * through copies that cannot fault, should the file be cut meanwhile. */
static bool map_image(int fd, struct image *image)
{
	void *base = mmap(NULL, image->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	if (base == MAP_FAILED)
		return false;
	image->base = base;
	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t skew = segment->p_vaddr & (PAGE - 1);

		if (segment->p_type != PT_LOAD || segment->p_filesz == 0)
			continue;
		if ((segment->p_offset & (PAGE - 1)) != skew ||
		    mmap(image->base + (segment->p_vaddr - skew - image->low),
			 segment->p_filesz + skew, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(segment->p_offset - skew)) == MAP_FAILED)
			return false;
	}
	return true;
}

static bool is_within(const struct image *image, const Elf64_Phdr *segment)
{
	return segment->p_vaddr >= image->low && segment->p_filesz <= image->span &&
	       segment->p_vaddr - image->low <= image->span - segment->p_filesz;
}

static void compile(struct unwind_files *files, struct rules *rules, int fd)
{
	struct image image = {0};
	const Elf64_Phdr *code, *header;

	if (!read_segments(fd, &image) || !find_span(&image))
		return;
	code = find_segment(&image, PT_LOAD, PF_X);
	header = find_segment(&image, PT_GNU_EH_FRAME, 0);
	if (!code || !header || !is_within(&image, code) || !is_within(&image, header))
		return;
	if (map_image(fd, &image)) {
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
	if (image.base)
		munmap(image.base, image.span);
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
