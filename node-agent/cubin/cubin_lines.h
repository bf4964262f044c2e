/* Finds the source of a GPU's instructions in the line table of a cubin, with the functions that the compiler inlined.
 * cubin_rows.h says how the table is read, and what it is read from. Files may be damaged or hostile: time is about
 * linear in the size of the image, and memory at most seven times the image and 256 MiB. Pure. A table does not change
 * once it is made: any thread may search in it. */
#ifndef CUBIN_LINES_H
#define CUBIN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cubin_image.h"

#define CUBIN_FRAMES_MAX     32u
#define CUBIN_PATHS_SIZE_MAX (16u << 20) /* bytes of the paths of all files with lines */
#define CUBIN_PATH_MAX       4096u /* bytes of one of them, without its NUL; a longer one is cut */

struct cubin_function;
struct cubin_lines;

/* A function in a table of lines. Zeroed memory is one that is not known. Plain data, borrowed until
 * cubin_lines_destroy(). */
struct cubin_code {
	const struct cubin_lines *lines;
	const struct cubin_function *function;
};

/* Borrowed until cubin_lines_destroy(). */
struct cubin_frame {
	const char *function; /* as the compiler named it: mangled; NULL: not known */
	const char *file;     /* with its directory if the table has one; NULL: not known */
	uint32_t line;        /* 0: not known */
};

/* Copies what it keeps of the image. 0, and the caller owns *lines; -EBADMSG: the image is no cubin, it is damaged, or
 * its table is larger than the bounds; -ENODATA: it has no line table of DWARF 2 to 4; -ENOMEM. On error *lines is
 * NULL. */
int cubin_lines_create(const void *image, size_t size, struct cubin_lines **lines);
void cubin_lines_destroy(struct cubin_lines *lines);

/* Returns the bytes of memory that the table takes. */
size_t cubin_lines_size(const struct cubin_lines *lines);

/* Finds a function by its symbol's name, which is read once. Samples of a definition share one. */
struct cubin_code cubin_lines_code(const struct cubin_lines *lines, const char *function);

/* Finds the source of the instruction `offset` bytes behind the start of a function. Returns how many frames it is in,
 * innermost first; 0: not known. The last frame is that of the code itself. Its function is that of the code, or one
 * that this calls and that lies within it. Of such a function without lines only the name is known, as of the
 * assembler's own for division. A chain of more than CUBIN_FRAMES_MAX frames, as damaged files have, lacks the outer
 * ones. Equal texts at one address are one text. */
size_t cubin_code_find(struct cubin_code code, uint64_t offset,
		       struct cubin_frame frames[CUBIN_FRAMES_MAX]);

#endif
