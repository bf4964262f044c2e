/* Finds source lines, and the functions that the compiler inlined, in DWARF. A compilation unit is read once, when the
 * first address in it is asked for. Files may be damaged or hostile; sizes are bounded. One thread at a time uses an
 * object. Only this module includes libdw.h. */
#ifndef INLINE_FRAMES_H
#define INLINE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct inline_frames;

/* Opens the file in which several files share their DWARF (dwz), by the build id in .gnu_debugaltlink. Returns 0, and
 * the caller owns *file; or -errno. */
typedef int (*inline_frames_shared)(void *context, const uint8_t *build_id, uint32_t size,
				    struct elf_file **file);

/* The file is borrowed until inline_frames_destroy(), which accepts NULL. This function calls shared at most once;
 * shared may be NULL. Returns 0; -ENOENT: the file has no usable DWARF, or shared cannot open the file that it is
 * shared in; -EFBIG; -ENOMEM. On error *frames is NULL. */
int inline_frames_create(struct elf_file *file, inline_frames_shared shared, void *context,
			 struct inline_frames **frames);
void inline_frames_destroy(struct inline_frames *frames);

/* Writes the functions at the virtual address, outermost first, '\n' between them, each `NAME` or `NAME\tFILE:LINE`.
 * The line is that of the call; for the innermost function it is that of the address. Names are as the linker knows
 * them. outermost is the outermost function's name in the symbol table, and replaces its name in DWARF; NULL: not
 * known. If the text does not fit in max bytes, the innermost functions are left out. The text is terminated. Returns
 * its length; 0: nothing is known of the address. */
size_t inline_frames_describe(struct inline_frames *frames, uint64_t vaddr, const char *outermost,
			      char *text, size_t max);

#endif
