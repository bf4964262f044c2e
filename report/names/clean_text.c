#include "clean_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT      "\xef\xbf\xbd"
#define REPLACEMENT_SIZE 3u

/* Returns the size of the valid UTF-8 sequence at text; 0: it is overlong, a surrogate, too large or cut. */
static size_t sequence_size(const uint8_t *text, size_t left, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = text[0] < 0x80             ? 1
		      : (text[0] & 0xe0) == 0xc0 ? 2
		      : (text[0] & 0xf0) == 0xe0 ? 3
		      : (text[0] & 0xf8) == 0xf0 ? 4
						 : 0;

	if (size == 0 || size > left)
		return 0;
	*code = size == 1 ? text[0] : text[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3f);
	}
	bool valid =
		*code >= smallest[size] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
	return valid ? size : 0;
}

/* Returns whether the character has no shape of its own and acts on the terminal or the page: C0, DEL and C1, the marks
 * and embeddings that change the direction of text, separators of lines, and noncharacters, which XML does not take. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || (code & 0xfffe) == 0xfffe;
}

char *clean_text_of(const char *text, size_t size)
{
	const uint8_t *in = (const uint8_t *)text, *end = in + size;
	char *clean = malloc(size * REPLACEMENT_SIZE + 1), *out = clean;

	if (!clean)
		return NULL;
	while (in < end) {
		uint32_t code;
		size_t length = sequence_size(in, (size_t)(end - in), &code);

		if (length == 0) {
			memcpy(out, REPLACEMENT, REPLACEMENT_SIZE);
			out += REPLACEMENT_SIZE;
			in++;
			continue;
		}
		if (is_control(code)) {
			*out++ = '_';
		} else {
			memcpy(out, in, length);
			out += length;
		}
		in += length;
	}
	*out = '\0';
	return clean;
}
