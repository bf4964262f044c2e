#include "cubin_frame_name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns the last part of a path that names something. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Writes "name", "name\tfile:line", "file:line" or "file". Either text may be NULL. */
static size_t join(const char *name, const char *file, uint32_t line, char *text, size_t max)
{
	char number[16] = "";

	if (line)
		snprintf(number, sizeof(number), ":%" PRIu32, line);
	size_t name_size = name ? strlen(name) : 0, file_size = file ? strlen(file) : 0;
	size_t number_size = file ? strlen(number) : 0;
	bool has_both = name && file;
	if (name_size + has_both + file_size + number_size >= max)
		return 0;
	char *at = text;
	if (name)
		at = mempcpy(at, name, name_size);
	at += has_both;
	if (file)
		at = mempcpy(mempcpy(at, file, file_size), number, number_size);
	*at = '\0';
	for (char *c = text; c < at; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	if (has_both)
		text[name_size] = '\t';
	return (size_t)(at - text);
}

size_t cubin_frame_name_write(const struct cubin_frame *frame, const char *kernel, char *text,
			      size_t max)
{
	const char *name = frame->function && *frame->function ? frame->function : NULL;
	const char *file = frame->file && *frame->file ? frame->file : NULL;

	if (name && file && strcmp(name, kernel) == 0)
		name = NULL;
	if (!name && !file)
		name = "??";
	if (!name)
		file = last_part(file);
	else if (frame->line == 0)
		file = NULL; /* a symbol has a file only with its line */
	return join(name, file, frame->line, text, max);
}

size_t cubin_frame_name_chain(const struct cubin_frame *frames, size_t count, const char *kernel,
			      char *text, size_t max)
{
	size_t used = 0;

	if (max)
		*text = '\0';
	while (count-- > 0) {
		size_t start = used ? used + 1 : 0;
		size_t size = start < max ? cubin_frame_name_write(&frames[count], kernel,
								   text + start, max - start)
					  : 0;

		if (size == 0)
			break;
		if (used)
			text[used] = '\n';
		used = start + size;
	}
	return used;
}
