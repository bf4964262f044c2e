/* What we need of an ELF file: its build id, its segments, its function symbols. Files belong to
 * applications and may be damaged or hostile; sizes are bounded. One object is used by one thread
 * at a time. Only elf_file.c includes libelf.h by itself. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* A path of our own (job_file.h has those of jobs).
 * 0; -errno of open(); -ENOEXEC: not a regular file, or not ELF; -ENOMEM. On error *file is NULL.
 */
int elf_file_open(const char *path, struct elf_file **file);

/* The same for a descriptor, which it takes, on error too. A negative one is an error of its own. */
int elf_file_open_fd(int fd, struct elf_file **file);

/* An image in our own memory, borrowed until elf_file_close(). */
int elf_file_open_memory(void *image, size_t size, struct elf_file **file);

/* The same for one that was allocated by malloc(), which it takes, on error too. */
int elf_file_open_buffer(void *image, size_t size, struct elf_file **file);
void elf_file_close(struct elf_file *file); /* accepts NULL */

/* Copies the build id, at most max bytes of it. Returns its size in build_id; 0: the file has none.
 */
uint32_t elf_file_build_id(struct elf_file *file, uint8_t *build_id, uint32_t max);

/* -1: an image in memory. */
int elf_file_fd(const struct elf_file *file);

/* The image that was opened, as long as it is borrowed, or until elf_file_close(). NULL: it is a file. */
const void *elf_file_memory(struct elf_file *file, size_t *size);

/* Where a section lies once the file is loaded. false: there is none of that name, or it is not loaded with contents;
 * the outputs are then 0. */
bool elf_file_section_place(struct elf_file *file, const char *name, uint64_t *vaddr,
			    uint64_t *size);

/* The contents of a section, uninterpreted, borrowed until elf_file_close(). false: there is none of
 * that name, it has no contents in this file, or they are larger than max bytes. */
bool elf_file_section(struct elf_file *file, const char *name, size_t max, const void **data,
		      size_t *size);

/* What sort of symbols and debug information is here. */
bool elf_file_has_symtab(struct elf_file *file);
bool elf_file_has_dwarf(struct elf_file *file);

/* Bytes that the debug information will take in memory, decompressed. UINT64_MAX: that can't be
 * told. */
uint64_t elf_file_dwarf_size(struct elf_file *file);

/* For inline_frames.c, which reads DWARF from it; borrowed until elf_file_close(). */
struct Elf;
struct Elf *elf_file_handle(struct elf_file *file);

/* The virtual address of a file offset, by the load segments. false: no segment holds it; *vaddr is
 * then 0. */
bool elf_file_vaddr(struct elf_file *file, uint64_t offset, uint64_t *vaddr);

/* The other way. false: no segment has file contents there; *offset is then 0. */
bool elf_file_offset(struct elf_file *file, uint64_t vaddr, uint64_t *offset);

struct elf_file_function {
	uint64_t start;   /* virtual address in the file */
	uint64_t size;    /* bytes; 0: not known */
	const char *name; /* borrowed until elf_file_close() */
	uint8_t binding;  /* 0 global, 1 weak, 2 local: the lower, the better a name */
};

/* Calls back for each defined function of .symtab, or of .dynsym where there is no .symtab. A
 * callback that returns nonzero ends it. Returns 0, what the callback returned, or -ENOENT: no
 * symbols; -EFBIG: unreasonably many. */
int elf_file_each_function(struct elf_file *file,
			   int (*callback)(void *context, const struct elf_file_function *function),
			   void *context);

/* The values of symbols of .dynsym that are defined, by name: functions or data. 0: there is none. */
void elf_file_find_exported(struct elf_file *file, const char *const names[], uint32_t nr_names,
			    uint64_t values[]);

#endif
