/* Names as NVTX's callers give them, in bytes, wide characters or UTF-8, as UTF-8 of bounded size.
 * Pure; any thread. */
#ifndef NVTX_TEXT_H
#define NVTX_TEXT_H

#include <stdint.h>
#include <wchar.h>

#define NVTX_TEXT_MAX 192u /* bytes; a longer text is cut, and ends in "..." */

struct nvtx_text {
	uint32_t size;
	char bytes[NVTX_TEXT_MAX]; /* no NUL */
};

/* NULL: the empty text. Bytes that are no UTF-8 stay as they are. Cut only between characters. */
void nvtx_text_ascii(struct nvtx_text *text, const char *bytes);
/* What is no Unicode character becomes U+FFFD. */
void nvtx_text_unicode(struct nvtx_text *text, const wchar_t *characters);

/* Makes each run of decimal digits one '#'. Returns how many there were. */
uint32_t nvtx_text_mask(struct nvtx_text *text);

#endif
