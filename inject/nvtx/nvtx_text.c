#include "nvtx_text.h"

#include <stdbool.h>
#include <string.h>

#define CUT           "..."
#define CUT_SIZE      3u
#define REPLACEMENT   0xfffdu
#define CHARACTER_MAX 4u /* bytes of UTF-8 */

/* Returns whether a byte continues a character. */
static bool continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

void nvtx_text_ascii(struct nvtx_text *text, const char *bytes)
{
	size_t size = bytes ? strnlen(bytes, NVTX_TEXT_MAX + 1) : 0;

	if (size > NVTX_TEXT_MAX) {
		size = NVTX_TEXT_MAX - CUT_SIZE;
		for (uint32_t back = 1; back < CHARACTER_MAX && continues(bytes[size]); back++)
			size--;
		memcpy(text->bytes + size, CUT, CUT_SIZE);
		text->size = (uint32_t)size + CUT_SIZE;
	} else {
		text->size = (uint32_t)size;
	}
	if (size)
		memcpy(text->bytes, bytes, size);
}

static uint32_t encode(uint32_t character, char out[CHARACTER_MAX])
{
	if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		character = REPLACEMENT;
	if (character < 0x80) {
		out[0] = (char)character;
		return 1;
	}

	uint32_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	for (uint32_t i = size - 1; i > 0; i--, character >>= 6)
		out[i] = (char)(0x80 | (character & 0x3f));
	out[0] = (char)((0xf00 >> size & 0xff) | character);
	return size;
}

void nvtx_text_unicode(struct nvtx_text *text, const wchar_t *characters)
{
	uint32_t uncut = 0; /* where a cut would be */

	text->size = 0;
	for (; characters && *characters; characters++) {
		char out[CHARACTER_MAX];
		uint32_t size = encode((uint32_t)*characters, out);

		if (text->size + size > NVTX_TEXT_MAX) {
			memcpy(text->bytes + uncut, CUT, CUT_SIZE);
			text->size = uncut + CUT_SIZE;
			return;
		}
		memcpy(text->bytes + text->size, out, size);
		text->size += size;
		if (text->size <= NVTX_TEXT_MAX - CUT_SIZE)
			uncut = text->size;
	}
}

static bool begins(const struct nvtx_text *text, uint32_t at, const char *with)
{
	uint32_t size = (uint32_t)strlen(with);

	return text->size - at >= size && memcmp(text->bytes + at, with, size) == 0;
}

static bool counts_requests(const struct nvtx_text *text)
{
	if (begins(text, 0, "execute_"))
		return true;
	for (uint32_t at = 0; at < text->size; at++)
		if (begins(text, at, " ctx reqs, "))
			return true;
	return false;
}

/* Returns the sign of a run of digits, of which all between begin and end are. */
static char sign_of(const char *begin, const char *end, bool counts)
{
	if (!counts)
		return '#';
	for (; begin < end; begin++)
		if (*begin != '0')
			return '+';
	return '0';
}

uint32_t nvtx_text_mask(struct nvtx_text *text)
{
	const bool counts = counts_requests(text);
	uint32_t nr = 0, out = 0;

	for (uint32_t i = 0; i < text->size;) {
		uint32_t end = i;

		while (end < text->size && text->bytes[end] >= '0' && text->bytes[end] <= '9')
			end++;
		if (end == i) {
			text->bytes[out++] = text->bytes[i++];
			continue;
		}
		text->bytes[out++] = sign_of(text->bytes + i, text->bytes + end, counts);
		nr++;
		i = end;
	}
	text->size = out;
	return nr;
}
