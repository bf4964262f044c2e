#include "maps_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_HEAD_MAX 128u
#define DELETED       " (deleted)"
#define VDSO          "[vdso]"

/* START-END PERMISSIONS OFFSET DEVICE INODE   PATH */
static bool parse_line(const char *line, size_t size, struct maps_file_entry *entry)
{
	char head[LINE_HEAD_MAX + 1];
	char permissions[5];
	int path_at = 0;
	size_t head_size = size < LINE_HEAD_MAX ? size : LINE_HEAD_MAX;

	memcpy(head, line, head_size);
	head[head_size] = '\0';
	memset(entry, 0, sizeof(*entry));
	if (sscanf(head, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
		   &entry->start, &entry->end, permissions, &entry->offset, &entry->inode,
		   &path_at) != 5)
		return false;
	entry->executable = permissions[2] == 'x';
	if (path_at <= 0 || (size_t)path_at >= size)
		return true;
	entry->vdso = size - (size_t)path_at == strlen(VDSO) &&
		      memcmp(line + path_at, VDSO, strlen(VDSO)) == 0;
	if (line[path_at] != '/')
		return true;
	entry->path = line + path_at;
	entry->path_size = size - (size_t)path_at;

	size_t suffix = strlen(DELETED);
	if (entry->path_size > suffix &&
	    memcmp(entry->path + entry->path_size - suffix, DELETED, suffix) == 0) {
		entry->deleted = true;
		entry->path_size -= suffix;
	}
	return true;
}

/* Where the line's mapping ends; 0: not a line of a maps file. Lines before the one that is looked
 * for need no more than this. */
static uint64_t parse_end(const char *line, const char *line_end)
{
	uint64_t end = 0;
	const char *at = memchr(line, '-', (size_t)(line_end - line));

	for (at = at ? at + 1 : line_end; at < line_end && *at != ' '; at++) {
		char c = *at;

		if (c >= '0' && c <= '9')
			end = end << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			end = end << 4 | (uint64_t)(c - 'a' + 10);
		else
			return 0;
	}
	return end;
}

bool maps_file_find(const char *text, size_t size, uint64_t address, struct maps_file_entry *entry)
{
	const char *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		uint64_t mapping_end = parse_end(text, line_end);
		if (mapping_end > 0 && mapping_end <= address) {
			text = line_end + 1;
			continue;
		}
		if (!parse_line(text, (size_t)(line_end - text), entry))
			break;
		if (entry->start <= address && address < entry->end)
			return true;
		text = line_end + 1;
	}
	memset(entry, 0, sizeof(*entry));
	return false;
}

bool maps_file_next(const char **text, size_t *size, struct maps_file_entry *entry)
{
	const char *newline = *size ? memchr(*text, '\n', *size) : NULL;
	size_t line_size = newline ? (size_t)(newline - *text) : *size;

	if (*size == 0 || !parse_line(*text, line_size, entry)) {
		memset(entry, 0, sizeof(*entry));
		return false;
	}
	*text += newline ? line_size + 1 : line_size;
	*size -= newline ? line_size + 1 : line_size;
	return true;
}
