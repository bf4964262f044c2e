#include "python_string.h"

#include <string.h>

#define REPLACEMENT 0xfffdu

static uint32_t load_code_point(const uint8_t *data, unsigned kind, uint64_t i)
{
	uint16_t two;
	uint32_t four;

	switch (kind) {
	case 1:
		return data[i];
	case 2:
		memcpy(&two, data + 2 * i, sizeof(two));
		return two;
	default:
		memcpy(&four, data + 4 * i, sizeof(four));
		return four;
	}
}

static uint32_t encode(uint32_t code_point, char *out)
{
	if ((code_point >= 0xd800 && code_point < 0xe000) || code_point > 0x10ffff)
		code_point = REPLACEMENT;
	if (code_point < 0x80) {
		out[0] = (char)code_point;
		return 1;
	}
	if (code_point < 0x800) {
		out[0] = (char)(0xc0 | code_point >> 6);
		out[1] = (char)(0x80 | (code_point & 0x3f));
		return 2;
	}
	if (code_point < 0x10000) {
		out[0] = (char)(0xe0 | code_point >> 12);
		out[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code_point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code_point >> 18);
	out[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code_point & 0x3f));
	return 4;
}

/* This copies from the end backwards, so that the front is cut off. */
static void read_wide(const uint8_t *data, unsigned kind, uint64_t length, struct python_text *text)
{
	uint32_t start = sizeof(text->buffer);
	char bytes[4];

	while (length > 0) {
		uint32_t size = encode(load_code_point(data, kind, length - 1), bytes);

		if (size > start)
			break;
		start -= size;
		memcpy(text->buffer + start, bytes, size);
		length--;
	}
	text->text = text->buffer + start;
	text->size = (uint32_t)sizeof(text->buffer) - start;
}

void python_string_read(const struct python_layout *layout, uint64_t string,
			struct python_text *text)
{
	const uint8_t *object = (const uint8_t *)(uintptr_t)string;
	uint64_t length;
	uint32_t state;

	memcpy(&length, object + PYTHON_OBJECT_SIZE, sizeof(length));
	memcpy(&state, object + PYTHON_STRING_STATE, sizeof(state));

	unsigned kind = PYTHON_STRING_KIND(state);
	if (!(state & PYTHON_STRING_COMPACT) || length > PYTHON_STRING_LENGTH_MAX ||
	    (kind != 1 && kind != 2 && kind != 4)) {
		text->text = PYTHON_STRING_UNREADABLE;
		text->size = sizeof(PYTHON_STRING_UNREADABLE) - 1;
	} else if (state & PYTHON_STRING_ASCII) {
		uint64_t cut = length > RECORD_CODE_TEXT_MAX ? length - RECORD_CODE_TEXT_MAX : 0;

		text->text = (const char *)object + layout->string_ascii + cut;
		text->size = (uint32_t)(length - cut);
	} else {
		read_wide(object + layout->string_other, kind, length, text);
	}
}
