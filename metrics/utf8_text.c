#include "utf8_text.h"

#include <stdint.h>

/* The least character of each size: below it a shorter form exists. */
static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

size_t utf8_text_next(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	const uint8_t first = bytes[0];
	size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	uint32_t character;

	if (size == 1)
		return first ? 1 : 0;
	if (first < 0xc0 || first >= 0xf8)
		return 0;
	character = first & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0; /* the string's end, too */
		character = character << 6 | (bytes[i] & 0x3f);
	}
	if (character < least[size] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return 0;
	return size;
}
