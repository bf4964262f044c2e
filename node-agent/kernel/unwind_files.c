#include "unwind_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_image.h"

#include "base/array.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/foreign_file.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_frame_lookup.h"
#include "unwind/unwind_rows.h"

#define CACHE_ENTRIES (1u << 15) /* a power of two */
#define ROWS_MAX      (1u << 16) /* bytes of one function's rows */

struct unwind_file {
	struct elf_image image;
	struct eh_frame_lookup lookup;
	uint64_t device; /* 0: its file system answers */
	uid_t user;      /* user of the file's foreign calls */
};

/* Reads one rule; if the file system may not answer, by a foreign call. */
struct rule_reader {
	struct foreign_call call; /* first */
	struct unwind_file *file; /* owns, if the call is left behind */
	uint64_t vaddr;
	uint32_t rule;
	struct unwind_rows rows; /* owns */
	struct eh_frame_found found;
};

/* The rule of one address. Most addresses are return addresses, which recur often. */
struct cached {
	uint64_t vaddr;
	uint32_t module; /* id + 1; 0: the entry is free */
	uint32_t rule;
};

struct unwind_files {
	struct unwind_file **files; /* owns; by module id; NULL: not known, or &no_rules */
	uint32_t max, nr_mapped;
	uint64_t bytes; /* taken by lists of functions */
	uint64_t nr_reads;
	struct cached cache[CACHE_ENTRIES];
	struct rule_reader *reader; /* owns; NULL: the next foreign call makes it */
};

static struct unwind_file no_rules; /* stands for files without rules */

static struct rule_reader *create_reader(void)
{
	struct rule_reader *reader = calloc(1, sizeof(*reader));

	if (reader)
		unwind_rows_init(&reader->rows, ROWS_MAX);
	return reader;
}

static void destroy_reader(struct rule_reader *reader)
{
	if (reader)
		unwind_rows_fini(&reader->rows);
	free(reader);
}

struct unwind_files *unwind_files_create(void)
{
	struct unwind_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->reader = create_reader();
	if (!files->reader) {
		free(files);
		return NULL;
	}
	return files;
}

void unwind_file_unmap(struct unwind_file *file)
{
	if (!file)
		return;
	eh_frame_lookup_fini(&file->lookup);
	elf_image_fini(&file->image);
	free(file);
}

static void unmap_left(struct foreign_call *call)
{
	struct rule_reader *reader = (struct rule_reader *)call;

	unwind_file_unmap(reader->file);
	reader->file = NULL;
}

static void destroy_left(struct foreign_call *call)
{
	struct rule_reader *reader = (struct rule_reader *)call;

	unwind_file_unmap(reader->file);
	destroy_reader(reader);
}

/* The last unmapping of an open file may wait for its server. If the server does not answer, the file stays mapped. */
static void unmap_foreign(struct unwind_file *file)
{
	struct rule_reader *reader = create_reader();

	if (!reader)
		return;
	reader->call = (struct foreign_call){.run = unmap_left,
					     .returned = destroy_left,
					     .user = file->user,
					     .device = file->device};
	reader->file = file;
	if (foreign_file_call(&reader->call) != -ETIMEDOUT)
		destroy_reader(reader);
}

static void forget_all(struct unwind_files *files)
{
	for (uint32_t i = 0; i < files->max; i++) {
		struct unwind_file *file = files->files[i];

		files->files[i] = NULL;
		if (!file || file == &no_rules)
			continue;
		if (file->device)
			unmap_foreign(file);
		else
			unwind_file_unmap(file);
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
	destroy_reader(files->reader);
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

/* Static programs have no header, since the linker writes none. Their sections may have been removed. */
static bool find_functions(struct unwind_file *file, struct elf_file *elf)
{
	const struct elf_image *image = &file->image;
	const Elf64_Phdr *header = elf_image_segment(image, PT_GNU_EH_FRAME, 0);
	const struct eh_frame_image frames = elf_image_frames(image);
	uint64_t vaddr, size;

	if (header)
		return eh_frame_lookup_init(&file->lookup, &frames, frames.bias + header->p_vaddr,
					    header->p_filesz) == 0;
	return elf_file_section_place(elf, ".eh_frame", &vaddr, &size) &&
	       has_place(image, vaddr, size) &&
	       eh_frame_lookup_init_frames(&file->lookup, &frames, frames.bias + vaddr, size) == 0;
}

struct unwind_file *unwind_file_map(struct elf_file *elf)
{
#if defined(__x86_64__)
	struct unwind_file *file = calloc(1, sizeof(*file));

	if (file && map_image(&file->image, elf) && find_functions(file, elf))
		return file;
	unwind_file_unmap(file);
#else
	(void)elf;
	(void)map_image;
	(void)find_functions;
#endif
	return NULL;
}

int unwind_files_add(struct unwind_files *files, uint32_t module_id, struct unwind_file *file,
		     uint64_t device, uid_t user)
{
	int r = array_reserve_zeroed(&files->files, &files->max, module_id + 1ul,
				     sizeof(*files->files));

	if (r || files->files[module_id]) {
		unwind_file_unmap(file);
		return r;
	}
	if (files->nr_mapped == UNWIND_FILES_MAX)
		forget_all(files);
	files->files[module_id] = &no_rules;
	if (!file)
		return 0;
	if (eh_frame_lookup_bytes(&file->lookup) > UNWIND_FILES_BYTES_MAX - files->bytes) {
		unwind_file_unmap(file);
		return 0;
	}
	files->bytes += eh_frame_lookup_bytes(&file->lookup);
	files->nr_mapped++;
	file->device = device;
	file->user = user;
	files->files[module_id] = file;
	return 0;
}

/* ---- rules -------------------------------------------------------------------------------------- */

/* Reads the last row that begins at or below the address. An address in no function gets UNWIND_GAP. */
static void read_rule(struct foreign_call *call)
{
	struct rule_reader *reader = (struct rule_reader *)call;
	const struct unwind_file *file = reader->file;
	uint64_t address = (uint64_t)(uintptr_t)file->image.base - file->image.low + reader->vaddr;
	const struct frame_description *function = &reader->found.description;
	struct unwind_rows *rows = &reader->rows;

	reader->rule = unwind_rule_special(UNWIND_GAP);
	rows->nr = 0;
	rows->error = 0;
	if (!eh_frame_lookup_find(&file->lookup, address, &reader->found) ||
	    !eh_frame_rows(function, rows))
		return;
	for (size_t i = 0; i < rows->nr && rows->rows[i].pc <= address - function->start; i++)
		reader->rule = rows->rows[i].rule;
}

/* Returns false if the rule cannot be read now. If the call was left behind, the module has lost the file. */
static bool read_by(struct unwind_files *files, uint32_t module_id, uint64_t vaddr, uint32_t *rule)
{
	struct unwind_file *file = files->files[module_id];
	uint64_t bytes = eh_frame_lookup_bytes(&file->lookup);
	int r = 0;

	if (!files->reader)
		files->reader = create_reader();
	struct rule_reader *reader = files->reader;
	if (!reader)
		return false;
	reader->call = (struct foreign_call){.run = read_rule,
					     .returned = destroy_left,
					     .user = file->user,
					     .device = file->device};
	reader->file = file;
	reader->vaddr = vaddr;
	files->nr_reads++;
	if (file->device)
		r = foreign_file_call(&reader->call);
	else
		read_rule(&reader->call);
	if (r == -ETIMEDOUT) {
		files->files[module_id] = NULL;
		files->nr_mapped--;
		files->bytes -= bytes;
		files->reader = NULL;
	} else {
		reader->file = NULL;
		*rule = reader->rule;
	}
	return r == 0;
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
	if (cached->module != module_id + 1 || cached->vaddr != vaddr) {
		uint32_t read;

		if (!read_by(files, module_id, vaddr, &read))
			return false;
		*cached = (struct cached){vaddr, module_id + 1, read};
	}
	*rule = cached->rule;
	return true;
}
