/* Source lines and inlined functions of a hostile ELF file's DWARF. Every description is terminated, and is the same
 * when it is asked for again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/inline_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int describe_function(void *context, const struct elf_file_function *function)
{
	struct inline_frames *frames = context;
	char text[512], again[512];

	for (uint64_t at = 0; at < 64; at += 8) {
		size_t length = inline_frames_describe(frames, function->start + at, function->name, text,
						       sizeof(text));
		size_t second = inline_frames_describe(frames, function->start + at, function->name, again,
						       sizeof(again));

		if (length >= sizeof(text) || text[length] != '\0' || length != second ||
		    memcmp(text, again, length) != 0)
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inline_frames *frames = NULL;
	struct elf_file *file;

	if (elf_file_open_fd(fuzz_file_memory(data, size), &file) != 0)
		return 0;
	if (inline_frames_create(file, NULL, NULL, &frames) == 0)
		elf_file_each_function(file, describe_function, frames);
	inline_frames_destroy(frames);
	elf_file_close(file);
	return 0;
}
