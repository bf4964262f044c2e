/* The names of inlined functions in a cubin. A row has a name as an offset from where its unit's strings begin in
 * .debug_str, which the unit's header tells (cubin_rows.h). The linker puts the units of several object files one
 * behind the other, and their strings in the same order. But the assembler of CUDA 13.0 does not tell the linker of
 * that place if the code is for sm_90: then each unit says 0. If so, the strings tell the places: those of a unit end
 * behind the last one that its rows name. Where this does not fit the section exactly, only the first unit's names are
 * known. Single-threaded while it is made; then any thread. */
#ifndef CUBIN_NAMES_H
#define CUBIN_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct cubin_image;
struct cubin_rows;

/* Embedded; zeroed memory has no names. */
struct cubin_names {
	char *text; /* owns; .debug_str and a NUL; NULL: no row has a name */
	size_t size;
};

/* Copies the strings, and makes the names of all rows offsets in them, or CUBIN_NAME_NONE. 0 or -ENOMEM. */
int cubin_names_init(struct cubin_names *names, struct cubin_rows *rows,
		     const struct cubin_image *image);
void cubin_names_fini(struct cubin_names *names);

/* Returns the text of a row's name, borrowed until cubin_names_fini(); NULL: not known. */
const char *cubin_names_text(const struct cubin_names *names, uint32_t name);

#endif
