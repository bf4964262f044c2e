#include "protobuf_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NUMBER_SIZE_MAX 10u /* bytes of a number */

enum wire_type { WIRE_NUMBER = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed numbers are copied");

/* Seven bits a byte, the lowest first; the highest bit says that more follow. Returns the number of bytes. */
static uint32_t encode(uint8_t bytes[static NUMBER_SIZE_MAX], uint64_t number)
{
	uint32_t size = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[size++] = (uint8_t)(number | 0x80);
	bytes[size++] = (uint8_t)number;
	return size;
}

static uint64_t tag(uint32_t field, enum wire_type type)
{
	return (uint64_t)field << 3 | type;
}

static void append(struct protobuf_text *text, const void *bytes, uint32_t size)
{
	if (text->failed || size == 0)
		return;
	if (array_reserve(&text->bytes, &text->room, (uint64_t)text->size + size, 1)) {
		text->failed = true;
		return;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static void append_number(struct protobuf_text *text, uint64_t number)
{
	uint8_t bytes[NUMBER_SIZE_MAX];

	append(text, bytes, encode(bytes, number));
}

void protobuf_text_fini(struct protobuf_text *text)
{
	free(text->bytes);
	*text = (struct protobuf_text){0};
}

void protobuf_text_clear(struct protobuf_text *text)
{
	text->size = 0;
	text->failed = false;
}

void protobuf_text_number(struct protobuf_text *text, uint32_t field, uint64_t number)
{
	if (number)
		protobuf_text_whole(text, field, number);
}

void protobuf_text_whole(struct protobuf_text *text, uint32_t field, uint64_t number)
{
	append_number(text, tag(field, WIRE_NUMBER));
	append_number(text, number);
}

void protobuf_text_fixed(struct protobuf_text *text, uint32_t field, uint64_t number)
{
	append_number(text, tag(field, WIRE_FIXED));
	append(text, &number, sizeof(number)); /* little-endian, as the encoding is */
}

void protobuf_text_bytes(struct protobuf_text *text, uint32_t field, const void *bytes,
			 uint32_t size)
{
	append_number(text, tag(field, WIRE_BYTES));
	append_number(text, size);
	append(text, bytes, size);
}

void protobuf_text_numbers(struct protobuf_text *text, uint32_t field, const uint64_t *numbers,
			   uint32_t nr)
{
	uint8_t bytes[NUMBER_SIZE_MAX];
	uint64_t size = 0;

	for (uint32_t i = 0; i < nr; i++)
		size += encode(bytes, numbers[i]);
	append_number(text, tag(field, WIRE_BYTES));
	append_number(text, size);
	for (uint32_t i = 0; i < nr; i++)
		append_number(text, numbers[i]);
}

int protobuf_text_write(struct protobuf_text *text, uint32_t field, FILE *out)
{
	uint8_t head[2 * NUMBER_SIZE_MAX];
	uint32_t size = encode(head, tag(field, WIRE_BYTES));
	const bool failed = text->failed;

	size += encode(head + size, text->size);
	if (!failed) {
		fwrite(head, 1, size, out);
		fwrite(text->bytes, 1, text->size, out);
	}
	protobuf_text_clear(text);
	return failed ? -ENOMEM : 0;
}
