/* The text of /proc/PID/maps, and what is remembered of it. Where all lines are mappings in the order of their
 * addresses, bisection finds what reading line by line finds; the last mapping that was added is the one that holds an
 * address. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/files/maps_file.h"
#include "node-agent/files/process_maps.h"

#define ENTRIES_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct maps_file_entry entries[ENTRIES_MAX];

static void check_path(const char *text, size_t size, const struct maps_file_entry *entry)
{
	if (entry->path_size && (entry->path < text || entry->path + entry->path_size > text + size))
		abort();
	if (!entry->path_size && entry->deleted)
		abort();
}

/* Whatever the text is: an entry holds the address, or there is a hole that does, or nothing. */
static void check_find(const char *text, size_t size, uint64_t address)
{
	struct maps_file_entry entry;
	bool found = maps_file_find(text, size, address, &entry);

	check_path(text, size, &entry);
	if (entry.start == 0 && entry.end == 0 && !found)
		return;
	if (address < entry.start || (address >= entry.end && entry.end != UINT64_MAX))
		abort();
}

static uint32_t read_lines(const char *text, size_t size, size_t *left)
{
	const char *at = text;
	uint32_t count = 0;

	*left = size;
	while (count < ENTRIES_MAX && maps_file_next(&at, left, &entries[count])) {
		if (at + *left != text + size)
			abort();
		check_path(text, size, &entries[count]);
		count++;
	}
	return count;
}

static void check_bisection(const char *text, size_t size, uint32_t count)
{
	struct maps_file_entry entry;

	for (uint32_t i = 0; i < count; i++)
		if (entries[i].start >= entries[i].end || (i > 0 && entries[i].start < entries[i - 1].end))
			return;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t inside[] = {entries[i].start, entries[i].end - 1};

		for (uint32_t k = 0; k < 2; k++) {
			bool found = maps_file_find(text, size, inside[k], &entry);

			/* Numbers that the kernel does not write, as "0x1" or "-1", are mappings to one of them
			 * alone. */
			if (found && (entry.start != entries[i].start || entry.end != entries[i].end ||
				      entry.path_size != entries[i].path_size))
				abort();
		}
	}
}

static void check_process_maps(uint32_t count)
{
	struct process_maps *maps = process_maps_create();

	if (!maps)
		abort();
	for (uint32_t i = 0; i < count; i++) {
		const struct maps_file_entry *entry = &entries[i];

		if (!entry->executable)
			process_maps_remove(maps, entry->start, entry->end);
		else if ((process_maps_add(maps, entry->start, entry->end, entry->offset, i) == 0) !=
			 (entry->start < entry->end))
			abort();
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t places[] = {entries[i].start - 1, entries[i].start, entries[i].end - 1,
					   entries[i].end};

		for (uint32_t k = 0; k < 4; k++) {
			uint32_t last = count, module_id;
			uint64_t vaddr;

			while (last > 0 && (places[k] < entries[last - 1].start || places[k] >= entries[last - 1].end))
				last--;
			bool expected = last > 0 && entries[last - 1].executable;

			if (process_maps_find(maps, places[k], &module_id, &vaddr) != expected)
				abort();
			if (expected && (module_id != last - 1 || vaddr != places[k] - entries[last - 1].offset))
				abort();
		}
	}
	process_maps_destroy(maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* which the sanitizer watches; data has room behind it */
	size_t left;

	if (!text)
		abort();
	memcpy(text, data, size);
	text = realloc(text, size ? size : 1);
	uint32_t count = read_lines(text, size, &left);
	if (left == 0)
		check_bisection(text, size, count);
	for (uint32_t i = 0; i < count; i++) {
		check_find(text, size, entries[i].start - 1);
		check_find(text, size, entries[i].start);
		check_find(text, size, entries[i].end);
	}
	check_find(text, size, 0);
	check_find(text, size, UINT64_MAX);
	check_process_maps(count);
	free(text);
	return 0;
}
