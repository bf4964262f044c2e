/* cubin_lines_dump CUBIN: reads lines "FUNCTION OFFSET", and prints the source of each, frames innermost first:
 * "FUNCTION\tFILE\tLINE" with a tab between frames, "-" for what is not known. It exits with 1 and prints the error if the cubin
 * cannot be read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/cubin/cubin_lines.h"

#define IMAGE_SIZE_MAX (64u << 20)

static size_t read_file(const char *path, char *bytes)
{
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(bytes, 1, IMAGE_SIZE_MAX, file) : 0;

	if (file)
		fclose(file);
	return size;
}

static void answer(const struct cubin_lines *lines, const char *function, uint64_t offset)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	size_t count = cubin_code_find(cubin_lines_code(lines, function), offset, frames);

	for (size_t i = 0; i < count; i++)
		printf("%s%s\t%s\t%" PRIu32, i ? "\t" : "",
		       frames[i].function ? frames[i].function : "-",
		       frames[i].file ? frames[i].file : "-", frames[i].line);
	putchar('\n');
}

int main(int argc, char **argv)
{
	char *bytes = malloc(IMAGE_SIZE_MAX), *text = NULL;
	struct cubin_lines *lines = NULL;
	size_t size = argc == 2 && bytes ? read_file(argv[1], bytes) : 0, room = 0;
	int error = cubin_lines_create(bytes, size, &lines);

	printf("%s %s\n", cubin_has_lines(bytes, size) ? "lines" : "none",
	       error ? strerror(-error) : "read");
	while (!error && getline(&text, &room, stdin) > 0) {
		char *space = strrchr(text, ' ');

		if (!space)
			continue;
		*space = '\0';
		answer(lines, text, strtoull(space + 1, NULL, 10));
	}
	free(text);
	free(bytes);
	cubin_lines_destroy(lines);
	return error ? 1 : 0;
}
