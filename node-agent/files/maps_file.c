#include "maps_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define LINE_HEAD_MAX      128u
#define ADDRESS_DIGITS_MAX 16
#define DELETED            " (deleted)"
#define VDSO               "[vdso]"

/* Reads a hexadecimal number that ends before `end`, and moves *at behind it. Excess digits are left unread. */
static uint64_t parse_hex(const char **at, const char *end)
{
	const char *begin = *at;
	uint64_t value = 0;

	for (; *at < end && *at - begin < ADDRESS_DIGITS_MAX; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return value;
}

/* Reads only the range of a line, since the search needs no more of most lines. */
static bool parse_range(const char *line, const char *line_end, uint64_t *start, uint64_t *end)
{
	const char *at = line;

	*start = parse_hex(&at, line_end);
	if (at == line || at == line_end || *at != '-')
		return false;
	at++;
	*end = parse_hex(&at, line_end);
	return at < line_end && *at == ' ' && *end > *start;
}

/* START-END PERMISSIONS OFFSET DEVICE INODE   PATH */
static bool parse_line(const char *line, size_t size, struct maps_file_entry *entry)
{
	char head[LINE_HEAD_MAX + 1];
	char permissions[5] = "";
	unsigned major_number, minor_number;
	int path_at = 0;
	size_t head_size = size < LINE_HEAD_MAX ? size : LINE_HEAD_MAX;

	memcpy(head, line, head_size);
	head[head_size] = '\0';
	memset(entry, 0, sizeof(*entry));
	if (!parse_range(line, line + size, &entry->start, &entry->end) ||
	    sscanf(head, "%*s %4s %" SCNx64 " %x:%x %" SCNu64 " %n", permissions, &entry->offset,
		   &major_number, &minor_number, &entry->inode, &path_at) != 5) {
		memset(entry, 0, sizeof(*entry));
		return false;
	}
	entry->device = makedev(major_number, minor_number);
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

/* Finds the line that holds byte `at` of the text; *next is the start of the following line. */
static size_t line_at(const char *text, size_t size, size_t at, size_t *next)
{
	const char *newline = memchr(text + at, '\n', size - at);
	const char *before = memrchr(text, '\n', at);

	*next = newline ? (size_t)(newline - text) + 1 : size;
	return before ? (size_t)(before - text) + 1 : 0;
}

/* Bisection works because the kernel writes mappings in the order of their addresses. */
bool maps_file_find(const char *text, size_t size, uint64_t address, struct maps_file_entry *entry)
{
	size_t low = 0, high = size; /* bounds of the lines not yet excluded */
	uint64_t hole_start = 0, hole_end = UINT64_MAX;

	memset(entry, 0, sizeof(*entry));
	while (low < high) {
		size_t next, line = line_at(text, size, low + (high - low) / 2, &next);
		size_t line_size = text[next - 1] == '\n' ? next - 1 - line : next - line;
		uint64_t start, end;

		if (!parse_range(text + line, text + line + line_size, &start, &end))
			return false;
		if (address >= end) {
			low = next;
			hole_start = end;
		} else if (address < start) {
			high = line;
			hole_end = start;
		} else {
			return parse_line(text + line, line_size, entry);
		}
	}
	entry->start = hole_start;
	entry->end = hole_end;
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
