#include "packed_text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define PACKED_SIZE  65536u /* bytes that zlib fills at once */
#define BUFFER_SIZE  65536u /* of the stream: zlib then gets few, large pieces */
#define PACKED_LEVEL 6      /* a million frames: level 9 takes four times as long for 2 % less */

struct packed_text {
	FILE *out;
	z_stream deflate;
	uint32_t pending; /* bytes that were not written yet, the first in the highest bits */
	unsigned int nr_pending;
	unsigned char bytes[PACKED_SIZE];
};

static void write_base64(FILE *out, uint32_t bits, unsigned int nr_bytes)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	bits <<= 8 * (3 - nr_bytes);
	putc(alphabet[bits >> 18 & 63], out);
	putc(alphabet[bits >> 12 & 63], out);
	putc(nr_bytes > 1 ? alphabet[bits >> 6 & 63] : '=', out);
	putc(nr_bytes > 2 ? alphabet[bits & 63] : '=', out);
}

static void write_bytes(struct packed_text *packed, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++) {
		packed->pending = packed->pending << 8 | packed->bytes[i];
		if (++packed->nr_pending < 3)
			continue;
		write_base64(packed->out, packed->pending, 3);
		packed->pending = 0;
		packed->nr_pending = 0;
	}
}

/* Deflates all input. flush: Z_NO_FLUSH or Z_FINISH. */
static void pack(struct packed_text *packed, int flush)
{
	do {
		packed->deflate.next_out = packed->bytes;
		packed->deflate.avail_out = PACKED_SIZE;
		deflate(&packed->deflate, flush);
		write_bytes(packed, PACKED_SIZE - packed->deflate.avail_out);
	} while (packed->deflate.avail_out == 0);
}

/* Takes everything: what out refuses is found when out is flushed. */
static ssize_t pack_some(void *cookie, const char *bytes, size_t size_bytes)
{
	struct packed_text *packed = cookie;

	packed->deflate.next_in = (z_const Bytef *)bytes;
	packed->deflate.avail_in = (uInt)size_bytes;
	pack(packed, Z_NO_FLUSH);
	return (ssize_t)size_bytes;
}

int packed_text_open(FILE *out, struct packed_text **packed, FILE **stream)
{
	const cookie_io_functions_t functions = {.write = pack_some};
	struct packed_text *made = calloc(1, sizeof(*made));

	*packed = NULL;
	*stream = NULL;
	if (!made)
		return -ENOMEM;
	made->out = out;
	if (deflateInit(&made->deflate, PACKED_LEVEL) != Z_OK) {
		free(made);
		return -ENOMEM;
	}
	*stream = fopencookie(made, "w", functions);
	if (!*stream) {
		deflateEnd(&made->deflate);
		free(made);
		return -ENOMEM;
	}
	setvbuf(*stream, NULL, _IOFBF, BUFFER_SIZE);
	*packed = made;
	return 0;
}

void packed_text_close(struct packed_text *packed, FILE *stream)
{
	fclose(stream);
	packed->deflate.avail_in = 0;
	pack(packed, Z_FINISH);
	if (packed->nr_pending)
		write_base64(packed->out, packed->pending, packed->nr_pending);
	deflateEnd(&packed->deflate);
	free(packed);
}
