#include "deflate_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

#define CHUNK_SIZE 65536u
#define WINDOW     15 /* bits: the largest one */
#define GZIP_HEAD  16 /* added to these: gzip's head, not zlib's */
#define MEMORY     8  /* zlib's default */

struct deflate_file {
	FILE *out; /* borrowed */
	z_stream stream;
	unsigned char chunk[CHUNK_SIZE];
};

/* Returns whether out took everything. */
static bool run(struct deflate_file *file, int flush)
{
	int status;

	do {
		file->stream.next_out = file->chunk;
		file->stream.avail_out = CHUNK_SIZE;
		status = deflate(&file->stream, flush);
		size_t size = CHUNK_SIZE - file->stream.avail_out;
		if (fwrite(file->chunk, 1, size, file->out) != size)
			return false;
	} while (file->stream.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
	return true;
}

static ssize_t take(void *context, const char *bytes, size_t size)
{
	struct deflate_file *file = context;

	file->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	file->stream.avail_in = (unsigned int)size;
	return run(file, Z_NO_FLUSH) ? (ssize_t)size : 0;
}

static int finish(void *context)
{
	struct deflate_file *file = context;
	bool complete;

	file->stream.avail_in = 0;
	complete = run(file, Z_FINISH);
	deflateEnd(&file->stream);
	free(file);
	return complete ? 0 : EOF;
}

FILE *deflate_file_open(FILE *out, enum deflate_format format)
{
	struct deflate_file *file = calloc(1, sizeof(*file));
	FILE *stream;

	if (!file)
		return NULL;
	file->out = out;
	if (deflateInit2(&file->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 WINDOW + (format == DEFLATE_GZIP ? GZIP_HEAD : 0), MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(file);
		return NULL;
	}
	stream = fopencookie(file, "w", (cookie_io_functions_t){.write = take, .close = finish});
	if (!stream) {
		deflateEnd(&file->stream);
		free(file);
		return NULL;
	}
	setvbuf(stream, NULL, _IOFBF, CHUNK_SIZE);
	return stream;
}
