/* The functions of a cubin, found by name and by place. A kernel has a section of its own, in which it starts at 0. The
 * functions that it calls and that were not inlined lie in the same section, behind it and within its size; the linker
 * gives some a section of their own. Functions in sections beyond the 65,279th are not known. Single-threaded while it
 * is made; then any thread. */
#ifndef CUBIN_FUNCTIONS_H
#define CUBIN_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct cubin_image;

struct cubin_function {
	uint64_t start, size; /* bytes, within the section */
	uint32_t section;
	uint32_t name;    /* offset in the names */
	uint32_t parent;  /* the function that this one lies in, + 1; 0: none */
	bool is_doubtful; /* another function has the same name */
};

/* Embedded; zeroed memory has no functions. */
struct cubin_functions {
	struct cubin_function *
		items; /* owns; by section and start; the outer of two that start together is first */
	uint32_t count, room;
	struct hash_index index; /* of items, + 1 */
	char *names;             /* owns; ends in a NUL */
	size_t names_size;
};

/* Copies what it keeps. 0; -EBADMSG: the image has no symbols, they are damaged, or the names together are longer than
 * four images (they may overlap); -ENOMEM. On error the functions are to be ended, too. */
int cubin_functions_init(struct cubin_functions *functions, const struct cubin_image *image);
void cubin_functions_fini(struct cubin_functions *functions);

/* NULL: there is no function with this name, or there are several. */
const struct cubin_function *cubin_functions_find(const struct cubin_functions *functions,
						  const char *name);

/* Returns the innermost function that has the byte at address of a section; NULL: none. Of functions that partly
 * overlap, as in no real file, it may be any, or none. */
const struct cubin_function *cubin_functions_at(const struct cubin_functions *functions,
						uint32_t section, uint64_t address);

/* Returns the name as the compiler of the function's own source made it. The linker calls a function f within kernel k
 * "$k$f", and one of its own library "$__internal_3_$f". Borrowed until cubin_functions_fini(). */
const char *cubin_functions_name(const struct cubin_functions *functions,
				 const struct cubin_function *function);

#endif
