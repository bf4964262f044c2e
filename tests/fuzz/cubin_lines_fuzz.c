/* The line table of a hostile cubin. What is found is the same when it is asked for again, and has an end; nothing is
 * found behind a function; a file with lines is one of which the guest says so. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/cubin/cubin_functions.h"
#include "node-agent/cubin/cubin_lines.h"

#define FUNCTIONS_MAX 64u
#define OFFSETS_MAX   64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t length_of_all; /* the texts must be read */

static void check_place(const struct cubin_lines *lines, const char *name, uint64_t offset)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX], again[CUBIN_FRAMES_MAX];
	size_t count = cubin_code_find(cubin_lines_code(lines, name), offset, frames);

	if (count > CUBIN_FRAMES_MAX ||
	    cubin_code_find(cubin_lines_code(lines, name), offset, again) != count)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (frames[i].function != again[i].function || frames[i].file != again[i].file ||
		    frames[i].line != again[i].line)
			abort();
		length_of_all += frames[i].function ? strlen(frames[i].function) : 0;
		length_of_all += frames[i].file ? strlen(frames[i].file) : 0;
	}
	if (count && !frames[0].function && !frames[0].file && !frames[0].line)
		abort();
}

static void check_functions(const struct cubin_lines *lines,
			    const struct cubin_functions *functions)
{
	for (uint32_t i = 0; i < functions->count && i < FUNCTIONS_MAX; i++) {
		const struct cubin_function *function = &functions->items[i];
		const char *name = functions->names + function->name;
		const struct cubin_function *found = cubin_functions_find(functions, name);

		if (!found)
			continue;
		for (uint64_t at = 0; at < found->size && at < OFFSETS_MAX * 16; at += 16)
			check_place(lines, name, at);
		check_place(lines, name, found->size - 1);
		struct cubin_frame frames[CUBIN_FRAMES_MAX];
		if (cubin_code_find(cubin_lines_code(lines, name), found->size, frames) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin_functions functions = {0};
	struct cubin_lines *lines;
	struct cubin_image image;
	bool has_lines = cubin_has_lines(data, size);

	if (cubin_lines_create(data, size, &lines) != 0) {
		if (lines)
			abort();
		return 0;
	}
	if (!has_lines || cubin_image_open(data, size, &image) != 0 ||
	    cubin_functions_init(&functions, &image) != 0)
		abort();
	if (cubin_lines_size(lines) > 7 * size + (256u << 20))
		abort();
	check_functions(lines, &functions);
	cubin_functions_fini(&functions);
	cubin_lines_destroy(lines);
	return 0;
}
