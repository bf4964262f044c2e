/* Source lines, and the functions that the compiler inlined, from DWARF. A compilation unit is gone
 * through once, when the first address in it is asked for. Files may be damaged or hostile; sizes
 * are bounded. One object is used by one thread at a time. The only place that includes libdw.h. */
#ifndef INLINE_FRAMES_H
#define INLINE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct inline_frames;

/* The file is borrowed until inline_frames_destroy(), which accepts NULL. 0; -ENOENT: it has no
 * usable DWARF; -EFBIG; -ENOMEM. On error *frames is NULL. */
int inline_frames_create(struct elf_file *file, struct inline_frames **frames);
void inline_frames_destroy(struct inline_frames *frames);

/* Writes the functions at the virtual address, outermost first, '\n' between them, each `NAME` or
 * `NAME\tFILE:LINE`: the line of the call, for the innermost that of the address itself. Names are
 * as the linker knows them; outermost, the name in the symbol table, goes before what DWARF calls
 * it (NULL: not known). What does not fit in max bytes is left out from the innermost on.
 * Terminated. Returns the length; 0: nothing is known of the address. */
size_t inline_frames_describe(struct inline_frames *frames, uint64_t vaddr, const char *outermost,
			      char *text, size_t max);

#endif
