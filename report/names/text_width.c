#include "text_width.h"

#include <stdbool.h>
#include <string.h>

#define DOTS "\xe2\x80\xa6"

/* Letters of East Asia and pictures are two columns wide. */
static bool is_wide(uint32_t character)
{
	static const uint32_t ranges[][2] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf}, {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60}, {0xffe0, 0xffe6},
		{0x1f300, 0x1faff}, {0x20000, 0x3fffd},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (character >= ranges[i][0] && character <= ranges[i][1])
			return true;
	return false;
}

static bool is_combining(uint32_t character)
{
	return (character >= 0x300 && character <= 0x36f) ||
	       (character >= 0x200b && character <= 0x200d) ||
	       (character >= 0xfe00 && character <= 0xfe0f);
}

/* Returns the bytes of an escape for colours, "\033[1m"; 0: it is none. */
static size_t escape_size(const char *text)
{
	size_t size = 2;

	if (text[0] != '\033' || text[1] != '[')
		return 0;
	size += strspn(text + size, "0123456789;");
	return text[size] == 'm' ? size + 1 : 0;
}

size_t text_width_next(const char *text, uint32_t *columns)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t size = escape_size(text), wanted;

	*columns = 0;
	if (size || !*bytes)
		return size;
	*columns = 1;
	wanted = *bytes < 0xc0 ? 1 : *bytes < 0xe0 ? 2 : *bytes < 0xf0 ? 3 : 4;
	uint32_t character = wanted == 1 ? *bytes : *bytes & (0x7fu >> wanted);
	for (size = 1; size < wanted && (bytes[size] & 0xc0) == 0x80; size++)
		character = character << 6 | (bytes[size] & 0x3f);
	*columns = is_combining(character) ? 0 : is_wide(character) ? 2 : 1;
	return size;
}

uint32_t text_width_of(const char *text)
{
	uint32_t sum = 0, columns;
	size_t size;

	while ((size = text_width_next(text, &columns)) > 0) {
		sum += columns;
		text += size;
	}
	return sum;
}

void text_width_cut(char *text, uint32_t columns)
{
	uint32_t whole = text_width_of(text), kept = columns - 1, head = kept / 3, used = 0, width;
	size_t end = 0, from;

	if (whole <= columns)
		return;
	for (size_t size; (size = text_width_next(text + end, &width)) && used + width <= head;) {
		used += width;
		end += size;
	}
	/* The end of a name tells more than its beginning, which is its library's. */
	for (from = end; whole - used > kept - used; from += text_width_next(text + from, &width)) {
		text_width_next(text + from, &width);
		whole -= width;
	}
	if (from - end < strlen(DOTS))
		return;
	memcpy(text + end, DOTS, strlen(DOTS));
	memmove(text + end + strlen(DOTS), text + from, strlen(text + from) + 1);
}
