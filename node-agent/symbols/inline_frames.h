/* Source lines, and the functions that the compiler inlined, from DWARF. A compilation unit is gone
 * through once, when the first address in it is asked for. Files may be damaged or hostile; sizes
 * are bounded. One object is used by one thread at a time. The only place that includes libdw.h. */
#ifndef INLINE_FRAMES_H
#define INLINE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct inline_frames;

/* Finds the file that several share their DWARF in (dwz), by the build id that .gnu_debugaltlink says.
 * 0, and the caller owns *file; -errno. */
typedef int (*inline_frames_shared)(void *context, const uint8_t *build_id, uint32_t size,
				    struct elf_file **file);

/* The file is borrowed until inline_frames_destroy(), which accepts NULL. shared is called at most
 * once, by this function; NULL: there are no such files. 0; -ENOENT: it has no usable DWARF, or shares
 * it with a file that can't be had; -EFBIG; -ENOMEM. On error *frames is NULL. */
int inline_frames_create(struct elf_file *file, inline_frames_shared shared, void *context,
			 struct inline_frames **frames);
void inline_frames_destroy(struct inline_frames *frames);

/* Writes the functions at the virtual address, outermost first, '\n' between them, each `NAME` or
 * `NAME\tFILE:LINE`: the line of the call, for the innermost that of the address itself. Names are
 * as the linker knows them; outermost, the name in the symbol table, goes before what DWARF calls
 * it (NULL: not known). What does not fit in max bytes is left out from the innermost on.
 * Terminated. Returns the length; 0: nothing is known of the address. */
size_t inline_frames_describe(struct inline_frames *frames, uint64_t vaddr, const char *outermost,
			      char *text, size_t max);

#endif
