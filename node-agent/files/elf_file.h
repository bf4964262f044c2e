/* Reads an ELF file: its build id, its segments, its function symbols. Files belong to applications and may be damaged
 * or hostile, so sizes are bounded. Only one thread at a time may use an object. Only elf_file.c includes libelf.h. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Opens a file at a path of our own (permitted_file.h opens paths of jobs). 0; -errno of open(); -ENOEXEC: not a
 * regular file, or not ELF; -ENOMEM. On error *file is NULL. */
int elf_file_open(const char *path, struct elf_file **file);

/* Opens the file of a descriptor, with the same errors. It takes the descriptor, also on error. A negative fd is an
 * error (-errno), which is returned as it is. */
int elf_file_open_fd(int fd, struct elf_file **file);

/* Opens an image in our own memory, which is borrowed until elf_file_close(). */
int elf_file_open_memory(void *image, size_t size, struct elf_file **file);

/* Opens an image that malloc() allocated. It takes the image, also on error. */
int elf_file_open_buffer(void *image, size_t size, struct elf_file **file);
void elf_file_close(struct elf_file *file); /* accepts NULL */

/* Copies the build id, at most max bytes of it, and returns the number of bytes copied. 0: the file has none. */
uint32_t elf_file_build_id(struct elf_file *file, uint8_t *build_id, uint32_t max);

/* Returns the file's descriptor; -1: it is an image in memory. */
int elf_file_fd(const struct elf_file *file);

/* Returns the image that was opened. It is valid as long as it was lent, or until elf_file_close(). NULL: a file. */
const void *elf_file_memory(struct elf_file *file, size_t *size);

/* Finds the address at which a section lies once the file is loaded. false: no section has that name, or it is not
 * loaded with contents; the outputs are then 0. */
bool elf_file_section_place(struct elf_file *file, const char *name, uint64_t *vaddr,
			    uint64_t *size);

/* Finds the uninterpreted contents of a section, borrowed until elf_file_close(). false: no section has that name, it
 * has no contents in this file, or they are larger than max bytes. */
bool elf_file_section(struct elf_file *file, const char *name, size_t max, const void **data,
		      size_t *size);

/* Tell whether the file has a .symtab, and whether it has debug information. */
bool elf_file_has_symtab(struct elf_file *file);
bool elf_file_has_dwarf(struct elf_file *file);

/* Returns the bytes of memory that the debug information needs once it is decompressed. UINT64_MAX: not known. */
uint64_t elf_file_dwarf_size(struct elf_file *file);

/* Returns libelf's handle, from which inline_frames.c reads DWARF; borrowed until elf_file_close(). */
struct Elf;
struct Elf *elf_file_handle(struct elf_file *file);

/* Converts a file offset to a virtual address. false: no segment holds the offset; *vaddr is then 0. */
bool elf_file_vaddr(struct elf_file *file, uint64_t offset, uint64_t *vaddr);

/* Converts a virtual address to a file offset. false: no segment has file contents there; *offset is then 0. */
bool elf_file_offset(struct elf_file *file, uint64_t vaddr, uint64_t *offset);

struct elf_file_function {
	uint64_t start;   /* virtual address in the file */
	uint64_t size;    /* bytes; 0: not known */
	const char *name; /* borrowed until elf_file_close() */
	uint8_t binding;  /* 0 global, 1 weak, 2 local: the lower, the better the name */
};

/* Calls back for each defined function of .symtab, or of .dynsym if there is no .symtab. A callback that returns
 * nonzero ends the loop. Returns 0, the callback's nonzero result, -ENOENT (no symbols), or -EFBIG (unreasonably
 * many). */
int elf_file_each_function(struct elf_file *file,
			   int (*callback)(void *context, const struct elf_file_function *function),
			   void *context);

/* Looks up names among the defined symbols of .dynsym, functions and data alike, and stores their values. 0: no symbol
 * has that name. */
void elf_file_find_exported(struct elf_file *file, const char *const names[], uint32_t nr_names,
			    uint64_t values[]);

#endif
