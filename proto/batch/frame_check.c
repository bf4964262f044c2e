#include "frame_check.h"

#include <errno.h>

#include "message.h"

/* One MessagePack header: the elements and bytes that follow it. */
struct header {
	uint32_t size_bytes;  /* of the header itself */
	uint32_t body_bytes;  /* of a scalar, string or bin */
	uint32_t nr_elements; /* of an array */
	enum { HEADER_SCALAR, HEADER_TEXT, HEADER_BIN, HEADER_ARRAY } kind;
};

static uint32_t big_endian(const uint8_t *at, uint32_t size)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < size; i++)
		value = value << 8 | at[i];
	return value;
}

/* Headers that carry their length in size_bytes - 1 bytes: str, bin and array of 8, 16, 32 bits. */
static int read_long_header(const uint8_t *at, size_t left, struct header *header)
{
	uint32_t length;

	if (left < header->size_bytes)
		return -EBADMSG;
	length = big_endian(at + 1, header->size_bytes - 1);
	if (header->kind == HEADER_ARRAY)
		header->nr_elements = length;
	else
		header->body_bytes = length;
	return 0;
}

static int read_header(const uint8_t *at, size_t left, struct header *header)
{
	uint8_t tag = at[0];

	*header = (struct header){.size_bytes = 1, .kind = HEADER_SCALAR};
	if (tag <= 0x7f || tag >= 0xe0) /* small integers */
		return 0;
	if (tag >= 0x90 && tag <= 0x9f) {
		header->kind = HEADER_ARRAY;
		header->nr_elements = tag & 0x0f;
		return 0;
	}
	if (tag >= 0xa0 && tag <= 0xbf) {
		header->kind = HEADER_TEXT;
		header->body_bytes = tag & 0x1f;
		return 0;
	}
	switch (tag) {
	case 0xc0: /* nil */
	case 0xc2: /* false */
	case 0xc3: /* true */
		return 0;
	case 0xc4: /* bin 8, 16, 32 */
	case 0xc5:
	case 0xc6:
		header->kind = HEADER_BIN;
		header->size_bytes = 1 + (1u << (tag - 0xc4));
		return read_long_header(at, left, header);
	case 0xca: /* float 32, 64 */
	case 0xcb:
		header->body_bytes = 4u << (tag - 0xca);
		return 0;
	case 0xcc: /* unsigned and signed 8, 16, 32, 64 */
	case 0xcd:
	case 0xce:
	case 0xcf:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		header->body_bytes = 1u << (tag & 3);
		return 0;
	case 0xd9: /* str 8, 16, 32 */
	case 0xda:
	case 0xdb:
		header->kind = HEADER_TEXT;
		header->size_bytes = 1 + (1u << (tag - 0xd9));
		return read_long_header(at, left, header);
	case 0xdc: /* array 16, 32 */
	case 0xdd:
		header->kind = HEADER_ARRAY;
		header->size_bytes = 1 + (2u << (tag - 0xdc));
		return read_long_header(at, left, header);
	default: /* maps, extensions, and the byte that MessagePack never uses */
		return -EBADMSG;
	}
}

/* Checks an element's claim against the limits, and against the frame's bytes behind its header. */
static int check_claim(const struct header *header, size_t left, uint32_t depth, uint32_t nr_seen)
{
	if (header->kind == HEADER_TEXT && header->body_bytes > WIRE_STRING_MAX)
		return -EMSGSIZE;
	if (header->kind == HEADER_ARRAY) {
		if (header->nr_elements > WIRE_ITEMS_MAX || depth == WIRE_DEPTH_MAX)
			return -EMSGSIZE;
		if (header->nr_elements > WIRE_ELEMENTS_MAX - nr_seen)
			return -EMSGSIZE;
		if (header->nr_elements > left) /* each takes a byte at least */
			return -EBADMSG;
	}
	return header->body_bytes > left ? -EBADMSG : 0;
}

int frame_check(const uint8_t *frame, size_t size, size_t *at)
{
	uint32_t left_at_depth[WIRE_DEPTH_MAX + 1] = {1};
	uint32_t depth = 0, nr_seen = 0;
	struct header header;
	int err;

	*at = 0;
	if (size > WIRE_FRAME_MAX)
		return -EMSGSIZE;
	for (;;) {
		while (depth > 0 && left_at_depth[depth] == 0)
			depth--;
		if (depth == 0 && left_at_depth[0] == 0)
			return *at == size ? 0 : -EBADMSG;
		if (*at == size)
			return -EBADMSG;
		err = read_header(frame + *at, size - *at, &header);
		if (!err && *at == 0 && header.kind != HEADER_ARRAY)
			err = -EBADMSG;
		if (!err)
			err = check_claim(&header, size - *at - header.size_bytes, depth, nr_seen);
		if (err)
			return err;
		left_at_depth[depth]--;
		*at += header.size_bytes + header.body_bytes;
		if (header.kind == HEADER_ARRAY) {
			nr_seen += header.nr_elements;
			left_at_depth[++depth] = header.nr_elements;
		}
	}
}
