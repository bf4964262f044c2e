#include "kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define PATH     "/proc/kallsyms"
#define TEXT_MAX (256u << 20)
#define CHUNK    (1u << 20)
#define REACH    (1u << 20) /* bytes from a function's start that still belong to it */

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in names */
};

struct kernel_symbols {
	struct symbol *symbols; /* owns; by address */
	char *names;            /* owns; terminated */
	uint32_t count, max, names_max;
	size_t names_size;
};

static int append(struct kernel_symbols *symbols, uint64_t address, const char *name, size_t size)
{
	if (array_reserve(&symbols->symbols, &symbols->max, symbols->count + 1,
			  sizeof(*symbols->symbols)))
		return -ENOMEM;
	if (array_reserve(&symbols->names, &symbols->names_max, symbols->names_size + size + 1, 1))
		return -ENOMEM;
	symbols->symbols[symbols->count++] =
		(struct symbol){.address = address, .name = (uint32_t)symbols->names_size};
	memcpy(symbols->names + symbols->names_size, name, size);
	symbols->names[symbols->names_size + size] = '\0';
	symbols->names_size += size + 1;
	return 0;
}

/* A line is ADDRESS TYPE NAME; a tab and a module's name may follow. */
static int take_line(struct kernel_symbols *symbols, const char *line, const char *end)
{
	uint64_t address = 0;

	for (; line < end && *line != ' '; line++) {
		char c = *line;
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10
							    : 16;

		if (digit == 16)
			return 0;
		address = address << 4 | digit;
	}
	if (end - line < 4 || address == 0 || !strchr("tTwW", line[1]) || line[2] != ' ')
		return 0;
	const char *name = line + 3;
	const char *name_end = memchr(name, '\t', (size_t)(end - name));
	return append(symbols, address, name, (size_t)((name_end ? name_end : end) - name));
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

int kernel_symbols_parse(const char *text, size_t size, struct kernel_symbols **symbols)
{
	struct kernel_symbols *result = calloc(1, sizeof(*result));
	const char *end = text + size;
	int r = result ? 0 : -ENOMEM;

	*symbols = NULL;
	while (r == 0 && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		r = take_line(result, text, line_end);
		text = line_end + 1;
	}
	if (r) {
		kernel_symbols_destroy(result);
		return r;
	}
	if (result->count)
		qsort(result->symbols, result->count, sizeof(*result->symbols), by_address);
	*symbols = result;
	return 0;
}

/* The file's size is not known before it is read. */
static int read_all(int fd, char **text, size_t *size)
{
	uint32_t room = 0;
	ssize_t got = 1;

	*text = NULL;
	*size = 0;
	while (got > 0 && *size < TEXT_MAX) {
		if (array_reserve(text, &room, *size + CHUNK, 1))
			return -ENOMEM;
		got = read(fd, *text + *size, room - *size);
		if (got > 0)
			*size += (size_t)got;
	}
	return got < 0 ? -errno : 0;
}

int kernel_symbols_read(struct kernel_symbols **symbols)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);
	char *text;
	size_t size;

	*symbols = NULL;
	if (fd < 0)
		return -errno;
	int r = read_all(fd, &text, &size);
	close(fd);
	if (r == 0)
		r = kernel_symbols_parse(text, size, symbols);
	free(text);
	return r;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	free(symbols->names);
	free(symbols);
}

uint32_t kernel_symbols_count(const struct kernel_symbols *symbols)
{
	return symbols->count;
}

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address)
{
	uint32_t low = 0, high = symbols->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (symbols->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - symbols->symbols[low - 1].address > REACH)
		return NULL;
	return symbols->names + symbols->symbols[low - 1].name;
}
