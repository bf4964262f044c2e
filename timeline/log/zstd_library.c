#include "zstd_library.h"

#include "base/optional_library.h"

static const struct optional_library_symbol symbols[] = {
	{"ZSTD_createCCtx", offsetof(struct zstd_library, create_compressor)},
	{"ZSTD_freeCCtx", offsetof(struct zstd_library, free_compressor)},
	{"ZSTD_compressCCtx", offsetof(struct zstd_library, compress)},
	{"ZSTD_compressBound", offsetof(struct zstd_library, bound)},
	{"ZSTD_createDCtx", offsetof(struct zstd_library, create_decompressor)},
	{"ZSTD_freeDCtx", offsetof(struct zstd_library, free_decompressor)},
	{"ZSTD_decompressDCtx", offsetof(struct zstd_library, decompress)},
	{"ZSTD_isError", offsetof(struct zstd_library, is_error)},
};

static struct zstd_library functions; /* written once, by optional_library_load() */
static struct optional_library zstd = {
	.file = "libzstd.so.1",
	.missing = "libzstd is missing (Debian, Ubuntu, Red Hat: libzstd1 or libzstd)",
	.symbols = symbols,
	.nr_symbols = sizeof(symbols) / sizeof(*symbols),
	.functions = &functions,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

int zstd_library_open(const struct zstd_library **library, char **error)
{
	*library = &functions;
	return optional_library_load(&zstd, error);
}
