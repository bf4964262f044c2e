#include "clean_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT      "\xef\xbf\xbd"
#define REPLACEMENT_SIZE 3u

char *clean_text_of(const char *text, size_t size)
{
	const uint8_t *in = (const uint8_t *)text, *end = in + size;
	char *clean = malloc(size * REPLACEMENT_SIZE + 1), *out = clean;

	if (!clean)
		return NULL;
	while (in < end) {
		uint32_t code;
		size_t length = utf8_size(in, (size_t)(end - in), &code);

		if (length == 0) {
			memcpy(out, REPLACEMENT, REPLACEMENT_SIZE);
			out += REPLACEMENT_SIZE;
			in++;
			continue;
		}
		if (utf8_is_control(code)) {
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
