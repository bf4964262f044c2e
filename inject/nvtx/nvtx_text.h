/* Converts names from NVTX's callers (bytes, wide characters or UTF-8) to UTF-8 of bounded size. Pure; any thread may
 * call. */
#ifndef NVTX_TEXT_H
#define NVTX_TEXT_H

#include <stdint.h>
#include <wchar.h>

#define NVTX_TEXT_MAX 192u /* bytes; a longer text is cut, and ends in "..." */

struct nvtx_text {
	uint32_t size;
	char bytes[NVTX_TEXT_MAX]; /* no NUL */
};

/* Copies bytes; NULL is the empty text. Bytes that are not UTF-8 stay as they are. The text is cut only between
 * characters. */
void nvtx_text_ascii(struct nvtx_text *text, const char *bytes);
/* Converts wide characters. A value that is no Unicode character becomes U+FFFD. */
void nvtx_text_unicode(struct nvtx_text *text, const wchar_t *characters);

/* Makes each run of decimal digits one '#'. In names that count the requests of an inference server's step (vLLM's
 * "execute_context_1(9)_generation_4(4)", TensorRT-LLM's "_forward_step 7: 1 ctx reqs, 4 gen reqs") a 0 stays. Other
 * numbers become '+' there. So the name goes on telling what the step does. Returns the number of runs. */
uint32_t nvtx_text_mask(struct nvtx_text *text);

#endif
