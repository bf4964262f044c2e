/* Perf maps. The process is itself the one with generated code. A map that is read in two parts is the same as one that
 * is read at once, and a name has no control characters. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];
static int file = -1;

static void remove_file(void)
{
	unlink(path);
}

static void create_file(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)getpid());
	unlink(path);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || atexit(remove_file) != 0)
		abort();
}

static void append(const uint8_t *data, size_t size, size_t at)
{
	if (pwrite(file, data, size, (off_t)at) != (ssize_t)size)
		abort();
}

static void compare(const struct perf_map *one, const struct perf_map *other, uint64_t address)
{
	const char *name = perf_map_find(one, address), *again = perf_map_find(other, address);

	if (!name != !again || (name && strcmp(name, again) != 0))
		abort();
	for (; name && *name; name++)
		if ((unsigned char)*name < ' ')
			abort();
}

/* Each number of the text is looked up as an address, and each sum of two that follow each other. */
static void compare_all(const struct perf_map *one, const struct perf_map *other, const uint8_t *data,
			size_t size)
{
	char number[20];
	uint64_t last = 0;

	for (size_t at = 0; at < size;) {
		size_t length = 0;

		while (at + length < size && length < sizeof(number) - 1 && data[at + length] > ' ')
			length++;
		memcpy(number, data + at, length);
		number[length] = '\0';
		uint64_t value = strtoull(number, NULL, 16);
		compare(one, other, value);
		compare(one, other, last + value - 1);
		compare(one, other, last + value);
		last = value;
		at += length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map *parts, *whole;
	size_t first = size ? size * data[0] / 255 : 0;

	if (file < 0)
		create_file();
	if (ftruncate(file, 0) != 0)
		abort();
	append(data, first, 0);
	if (!perf_map_exists(getpid()) || perf_map_open(getpid(), &parts) != 0)
		abort();
	append(data + first, size - first, first);
	perf_map_refresh(parts);
	if (perf_map_open(getpid(), &whole) != 0)
		abort();
	compare_all(parts, whole, data, size);
	perf_map_close(parts);
	perf_map_close(whole);
	return 0;
}
