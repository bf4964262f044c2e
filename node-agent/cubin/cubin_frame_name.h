/* Writes frames of GPU code as the wire has symbols (proto/wire.md, symbols), so that reports make names for people of
 * them as of host code: they demangle, shorten paths, and replace what no name may hold. Pure; any thread.
 *
 *	frame				symbol					in a report
 *	the kernel's own code		source.cu:17				source.cu:17
 *	inlined, or called		_Z6helperf \t /home/u/source.cu:9	source.cu:helper(float):9
 *	a name alone			helper					helper
 *	an inlined one without a name	source.cu:9				source.cu:9 */
#ifndef CUBIN_FRAME_NAME_H
#define CUBIN_FRAME_NAME_H

#include <stddef.h>

#include "cubin_lines.h"

/* Writes a frame. kernel is the symbol's name that was asked for: a frame of this function is the kernel's own code. A
 * frame of which nothing is known is "??". Control characters, which separate parts, become '?'. Returns the length of
 * the text, which is terminated; 0: it does not fit in max bytes. */
size_t cubin_frame_name_write(const struct cubin_frame *frame, const char *kernel, char *text,
			      size_t max);

/* Writes frames, which come innermost first, as one symbol of several functions: outermost first, '\n' between them. If
 * the text does not fit in max bytes, the innermost functions are left out. Returns its length; 0: there is no frame,
 * or none fits. The text is terminated if max is not 0. */
size_t cubin_frame_name_chain(const struct cubin_frame *frames, size_t count, const char *kernel,
			      char *text, size_t max);

#endif
