#include "mini_debuginfo.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "node-agent/files/elf_file.h"

#define PACKED_SIZE_MAX   (64u << 20)
#define UNPACKED_SIZE_MAX (256u << 20)
#define DECODER_SIZE_MAX  (128u << 20) /* xz -9 needs 65 MiB */
#define FIRST_SIZE        (256u << 10)

static int grow(lzma_stream *stream, uint8_t **image, uint32_t *max)
{
	size_t used = *max - stream->avail_out;

	if (*max == UNPACKED_SIZE_MAX)
		return -EFBIG;
	if (array_reserve(image, max, *max ? 2ull * *max : FIRST_SIZE, 1))
		return -ENOMEM;
	stream->next_out = *image + used;
	stream->avail_out = *max - used;
	return 0;
}

static int error_of(lzma_ret code)
{
	switch (code) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

static int decompress(const void *packed, size_t packed_size, uint8_t **image, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, DECODER_SIZE_MAX, 0);
	uint32_t max = 0;
	int r = code == LZMA_OK ? 0 : error_of(code);

	*image = NULL;
	stream.next_in = packed;
	stream.avail_in = packed_size;
	while (r == 0 && code != LZMA_STREAM_END) {
		if (stream.avail_out == 0)
			r = grow(&stream, image, &max);
		if (r == 0) {
			code = lzma_code(&stream, LZMA_FINISH);
			if (code != LZMA_OK && code != LZMA_STREAM_END)
				r = error_of(code);
		}
	}
	*size = max - stream.avail_out;
	lzma_end(&stream);
	return r;
}

int mini_debuginfo_open(struct elf_file *file, struct elf_file **mini)
{
	const void *packed;
	size_t packed_size, size;
	uint8_t *image;

	*mini = NULL;
	if (!elf_file_section(file, ".gnu_debugdata", PACKED_SIZE_MAX, &packed, &packed_size))
		return -ENOENT;
	int r = decompress(packed, packed_size, &image, &size);
	if (r) {
		free(image);
		return r;
	}
	return elf_file_open_buffer(image, size, mini);
}
