/* Reads what a file with CPython (the program itself, or a libpython) says of its interpreter. Files are read, but not
 * believed. Only one thread at a time may use an object. */
#ifndef PYTHON_FILE_H
#define PYTHON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/python_layout.h"
#include "unwind/unwind.h"

#define PYTHON_FILE_TEXT_MAX 96u

struct elf_file;
struct python_files;

enum python_file_kind {
	PYTHON_FILE_NONE,    /* no interpreter */
	PYTHON_FILE_READY,   /* an interpreter of a known version */
	PYTHON_FILE_REFUSED, /* an interpreter whose frames cannot be read; text says why */
};

/* Virtual addresses in the file. */
struct python_file {
	enum python_file_kind kind;
	char text[PYTHON_FILE_TEXT_MAX]; /* "CPython 3.11", with the reason if it is refused */
	struct python_layout layout;     /* the layout from the table of versions */
	uint64_t runtime, code_type, string_type, bytes_type;
	struct unwind_stops loop; /* the bounds of the evaluation loop; none: it was not found */
};

/* Creates an empty cache; NULL: out of memory. python_files_destroy() accepts NULL. */
struct python_files *python_files_create(void);
void python_files_destroy(struct python_files *files);

/* Copies everything that is known from one cache to another. */
void python_files_copy(struct python_files *to, const struct python_files *from);

/* Returns whether a file with this path may hold an interpreter: libpython3.11.so.1.0, python3.11, python. */
bool python_file_is_named(const char *path, size_t path_size);

/* Returns the facts about a file, which it may know from an earlier read. Borrowed until the next call. */
const struct python_file *python_files_get(struct python_files *files, struct elf_file *elf,
					   const char *path, size_t path_size);

#endif
