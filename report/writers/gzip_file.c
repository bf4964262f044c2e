#include "gzip_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

#define CHUNK_SIZE  65536u
#define GZIP_WINDOW (15 + 16) /* the largest window, and gzip's head */
#define GZIP_MEMORY 8         /* zlib's default */

struct gzip_file {
	FILE *out; /* borrowed */
	z_stream stream;
	unsigned char chunk[CHUNK_SIZE];
};

/* Returns whether out took everything. */
static bool run(struct gzip_file *file, int flush)
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
	struct gzip_file *file = context;

	file->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	file->stream.avail_in = (unsigned int)size;
	return run(file, Z_NO_FLUSH) ? (ssize_t)size : 0;
}

static int finish(void *context)
{
	struct gzip_file *file = context;
	bool complete;

	file->stream.avail_in = 0;
	complete = run(file, Z_FINISH);
	deflateEnd(&file->stream);
	free(file);
	return complete ? 0 : EOF;
}

FILE *gzip_file_open(FILE *out)
{
	struct gzip_file *file = calloc(1, sizeof(*file));
	FILE *stream;

	if (!file)
		return NULL;
	file->out = out;
	if (deflateInit2(&file->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
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
