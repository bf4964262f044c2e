#include "source_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the place behind prefix at file + at; 0: other text stands there. */
static size_t end_of(const char *file, size_t size, size_t at, const char *prefix)
{
	size_t length = strlen(prefix);

	return size - at >= length && memcmp(file + at, prefix, length) == 0 ? at + length : 0;
}

/* Returns the end of "/lib/python3.11/" at file + at; 0: other text stands there. */
static size_t end_of_library(const char *file, size_t size, size_t at)
{
	size_t end = end_of(file, size, at, "/lib/python3.");

	if (!end)
		end = end_of(file, size, at, "/lib64/python3.");
	if (!end || end == size || !isdigit((unsigned char)file[end]))
		return 0;
	while (end < size && isdigit((unsigned char)file[end]))
		end++;
	if (end < size && file[end] == 't') /* a free-threaded build */
		end++;
	return end < size && file[end] == '/' ? end + 1 : 0;
}

const char *source_name_file(const char *file, size_t *size)
{
	size_t start = 0, base = 0;

	if (*size == 0 || file[0] == '<')
		return file;
	for (size_t at = 0; at < *size; at++) {
		size_t end = end_of(file, *size, at, "site-packages/");

		if (!end)
			end = end_of(file, *size, at, "dist-packages/");
		if (!end)
			end = end_of_library(file, *size, at);
		if (end && end < *size)
			start = end;
		if (file[at] == '/' && at + 1 < *size)
			base = at + 1;
	}
	if (!start)
		start = base;
	*size -= start;
	return file + start;
}

/* Sizes are used because the texts may hold any byte. */
char *source_name_make(const char *file, size_t file_size, const char *name, size_t name_size,
		       uint64_t line, size_t *text_size)
{
	char number[24] = "", *text, *end;
	size_t number_size = 0;

	if (line)
		number_size = (size_t)snprintf(number, sizeof(number), ":%" PRIu64, line);
	text = end = malloc(file_size + 1 + name_size + number_size + 1);
	if (!text)
		return NULL;
	if (file_size) {
		end = mempcpy(end, file, file_size);
		if (name_size)
			*end++ = ':';
	}
	if (name_size)
		end = mempcpy(end, name, name_size);
	end = mempcpy(end, number, number_size);
	*end = '\0';
	*text_size = (size_t)(end - text);
	return text;
}

bool source_name_has_line(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon > name && colon[-1] != ':' && colon[1] &&
	       colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}
