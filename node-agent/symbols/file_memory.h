/* What a module_table remembers of its process's files: which it knows, and where those lay that were unloaded.
 * Single-threaded. */
#ifndef FILE_MEMORY_H
#define FILE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define FILE_MEMORY_FILES    1024u /* known files; the oldest are forgotten */
#define FILE_MEMORY_UNLOADED 256u  /* places of unloaded files; the oldest are joined */

/* A file whose module is known. */
struct known_file {
	uint64_t identity; /* as in struct definition_module */
	uint32_t module, path, owner;
};

/* A file's place until it was unloaded. */
struct unloaded_file {
	uint64_t start, end, bias;
	uint32_t module;
	uint32_t nr_stacks; /* no stack with a higher number has a frame there */
};

/* Embedded; zeroed memory is empty, and takes none until something is kept. */
struct file_memory {
	struct known_file *files;       /* owns; a ring */
	uint32_t nr_files;              /* so far */
	struct unloaded_file *unloaded; /* owns; a ring */
	uint32_t nr_unloaded;           /* so far */
	struct unloaded_file joined; /* from the lowest to the highest of the oldest; end 0: none */
};

void file_memory_fini(struct file_memory *memory);

/* Keeps a file. One without an identity (0) is not kept. 0 or -ENOMEM. */
int file_memory_keep(struct file_memory *memory, const struct known_file *file);

/* Returns the owner's file of this identity; NULL: there is none. Borrowed until the next file is kept. */
const struct known_file *file_memory_find(const struct file_memory *memory, uint64_t identity,
					  uint32_t owner);

/* Returns whether the module is that of a file of another identity at the same path. A module without an identity (0)
 * is none. */
bool file_memory_is_taken(const struct file_memory *memory, const struct known_file *file);

/* Keeps the place of a file that was unloaded. 0 or -ENOMEM. */
int file_memory_unload(struct file_memory *memory, const struct unloaded_file *file);

/* Finds the file that lay at the address when the stack with this number was captured, if it was unloaded since. NULL:
 * none was. If that is too long ago, the module is MESSAGE_FRAME_NO_MODULE and the bias 0. Borrowed until the next
 * place is kept. */
const struct unloaded_file *file_memory_at(const struct file_memory *memory, uint32_t stack,
					   uint64_t address);

#endif
