/* The door to libzstd. It is loaded when it is needed, so that the build and most runs need none. Any thread. */
#ifndef ZSTD_LIBRARY_H
#define ZSTD_LIBRARY_H

#include <stddef.h>

/* The stable part of its interface (zstd.h of 1.5); the soname stands for it. */
struct zstd_library {
	void *(*create_compressor)(void);
	size_t (*free_compressor)(void *compressor);
	size_t (*compress)(void *compressor, void *out, size_t room, const void *in, size_t size,
			   int level);
	size_t (*bound)(size_t size);
	void *(*create_decompressor)(void);
	size_t (*free_decompressor)(void *decompressor);
	size_t (*decompress)(void *decompressor, void *out, size_t room, const void *in,
			     size_t size);
	unsigned (*is_error)(size_t result);
};

/* 0, and *library is valid for ever; -ENOPKG: there is none, and *error, which the caller owns (free()), says so. */
int zstd_library_open(const struct zstd_library **library, char **error);

#endif
