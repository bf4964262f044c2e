#include "base64_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#define BUFFER_SIZE 65536u

struct base64_file {
	FILE *out;
	uint32_t pending; /* bytes that were not written yet, the last in the lowest bits */
	unsigned int nr_pending;
};

static void write_group(FILE *out, uint32_t bits, unsigned int nr_bytes)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	bits <<= 8 * (3 - nr_bytes);
	putc(alphabet[bits >> 18 & 63], out);
	putc(alphabet[bits >> 12 & 63], out);
	putc(nr_bytes > 1 ? alphabet[bits >> 6 & 63] : '=', out);
	putc(nr_bytes > 2 ? alphabet[bits & 63] : '=', out);
}

/* Takes everything: what out refuses is found when out is flushed. */
static ssize_t take(void *context, const char *bytes, size_t size)
{
	struct base64_file *file = context;

	for (size_t i = 0; i < size; i++) {
		file->pending = file->pending << 8 | (unsigned char)bytes[i];
		if (++file->nr_pending < 3)
			continue;
		write_group(file->out, file->pending, 3);
		file->pending = 0;
		file->nr_pending = 0;
	}
	return (ssize_t)size;
}

static int finish(void *context)
{
	struct base64_file *file = context;

	if (file->nr_pending)
		write_group(file->out, file->pending, file->nr_pending);
	free(file);
	return 0;
}

FILE *base64_file_open(FILE *out)
{
	struct base64_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->out = out;
	FILE *stream =
		fopencookie(file, "w", (cookie_io_functions_t){.write = take, .close = finish});
	if (stream)
		setvbuf(stream, NULL, _IOFBF, BUFFER_SIZE);
	else
		free(file);
	return stream;
}
