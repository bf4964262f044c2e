#include "eh_frame_index.h"

#include <errno.h>
#include <sys/mman.h>

#include "eh_frame_header.h"
#include "process_memory.h"

#include "proto/sparse_memory.h"

#define FRAMES_MAX  (256u << 20) /* bytes of .eh_frame; ten times what large libraries have */
#define ENTRIES_MAX (16u << 20)

/* Returns how many bytes .eh_frame can have. */
static uint64_t frames_left(const struct eh_frame_index *index)
{
	uint64_t left = eh_frame_image_left(&index->section.image, index->section.address);

	return left < FRAMES_MAX ? left : FRAMES_MAX;
}

static void *map(size_t size)
{
	return sparse_memory_map(size, PROT_READ | PROT_WRITE);
}

static int map_entries(struct eh_frame_index *index, uint64_t nr)
{
	index->entries_size = nr * sizeof(struct eh_frame_entry);
	index->entries = map(index->entries_size);
	return index->entries ? 0 : -ENOMEM;
}

/* ---- sorting: without recursion or memory, and seldom needed */

static void sift_down(struct eh_frame_entry *entries, size_t root, size_t nr)
{
	while (2 * root + 1 < nr) {
		size_t child = 2 * root + 1;

		if (child + 1 < nr && entries[child + 1].address > entries[child].address)
			child++;
		if (entries[root].address >= entries[child].address)
			return;

		struct eh_frame_entry lower = entries[root];
		entries[root] = entries[child];
		entries[child] = lower;
		root = child;
	}
}

static void sort(struct eh_frame_entry *entries, size_t nr)
{
	size_t i = 1;

	while (i < nr && entries[i].address >= entries[i - 1].address)
		i++;
	if (i >= nr)
		return;
	for (i = nr / 2; i > 0; i--)
		sift_down(entries, i - 1, nr);
	for (i = nr - 1; i > 0; i--) {
		struct eh_frame_entry last = entries[i];

		entries[i] = entries[0];
		entries[0] = last;
		sift_down(entries, 0, i);
	}
}

/* ---- with a search table */

/* size: at most frames_left(). */
static int copy_frames(struct eh_frame_index *index, uint64_t size)
{
	if (size == 0)
		return -EINVAL;
	index->section.bytes = map(size);
	if (!index->section.bytes)
		return -ENOMEM;
	index->section.size = size;
	return process_memory_read(index->section.address, index->section.bytes, size) == size
		       ? 0
		       : -EFAULT;
}

static int64_t table_word(const uint8_t *table, uint64_t i)
{
	struct dwarf_reader reader = dwarf_reader_on(table + 4 * i, 4, 0);

	return dwarf_reader_signed(&reader, 4);
}

/* Takes the entries' places from the table, and finds how far the last entry reaches. */
static int take_table(struct eh_frame_index *index, const uint8_t *table, uint64_t nr)
{
	uint64_t last = 0, left = frames_left(index);
	uint8_t length[4];

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t address = index->section.data_base + (uint64_t)table_word(table, 2 * i);
		uint64_t at = index->section.data_base + (uint64_t)table_word(table, 2 * i + 1);

		if (at - index->section.address >= left)
			continue;
		at -= index->section.address;
		last = at > last ? at : last;
		index->entries[index->nr++] =
			(struct eh_frame_entry){.address = address, .at = (size_t)at};
	}
	if (index->nr == 0)
		return -ENOENT;
	left -= last;
	if (left < sizeof(length))
		return -EINVAL;
	if (process_memory_read(index->section.address + last, length, sizeof(length)) !=
	    sizeof(length))
		return -EFAULT;

	struct dwarf_reader reader = dwarf_reader_on(length, sizeof(length), 0);
	uint64_t size = sizeof(length) + dwarf_reader_unsigned(&reader, 4);
	return size <= left ? copy_frames(index, last + size) : -EINVAL;
}

static int index_by_table(struct eh_frame_index *index, const struct eh_frame_header *header)
{
	uint64_t size = header->nr * EH_FRAME_TABLE_ENTRY;
	uint8_t *table;
	int error;

	if (header->nr > ENTRIES_MAX)
		return -EINVAL;
	error = map_entries(index, header->nr);
	if (error)
		return error;
	table = map(size);
	if (!table)
		error = -ENOMEM;
	else if (process_memory_read(header->table, table, size) != size)
		error = -EFAULT;
	else
		error = take_table(index, table, header->nr);
	if (table)
		munmap(table, size);
	return error;
}

/* ---- without */

/* Counts the entries up to the terminator, or to the end of the readable bytes. size_max: of the file alone. */
static int measure(uint64_t frames, uint64_t size_max, uint64_t *size, uint64_t *nr)
{
	uint8_t window[1024]; /* small, because the calling thread may have a tiny stack */
	uint64_t at = 0, low = 0, held = 0;

	for (*nr = 0; at < size_max && *nr < ENTRIES_MAX; (*nr)++) {
		if (at < low || at + 4 > low + held) {
			low = at;
			held = process_memory_read(frames + at, window,
						   size_max - at < sizeof(window) ? size_max - at
										  : sizeof(window));
			if (held < 4)
				break;
		}

		struct dwarf_reader reader = dwarf_reader_on(window + (at - low), 4, 0);
		uint64_t length = dwarf_reader_unsigned(&reader, 4);
		if (length == 0 || length == UINT32_MAX)
			break;
		at += 4 + length;
	}
	*size = at < size_max ? at : size_max;
	return *nr ? 0 : -ENOENT;
}

static int index_by_walk(struct eh_frame_index *index, uint64_t size_max)
{
	struct frame_common_cache cache = {.nr = 0};
	uint64_t size, nr, left = frames_left(index);
	int error = measure(index->section.address, size_max < left ? size_max : left, &size, &nr);

	if (error == 0)
		error = copy_frames(index, size);
	if (error == 0)
		error = map_entries(index, nr);
	for (size_t at = 0; error == 0 && index->nr < nr && at + 4 <= index->section.size;) {
		struct dwarf_reader reader = frame_section_reader(&index->section, at);
		struct frame_description description;

		if (frame_description_parse(&index->section, &cache, at, &description))
			index->entries[index->nr++] =
				(struct eh_frame_entry){.address = description.start, .at = at};
		at += 4 + dwarf_reader_unsigned(&reader, 4);
	}
	return error ? error : index->nr ? 0 : -ENOENT;
}

/* ---- both */

static int init(struct eh_frame_index *index, const struct eh_frame_header *header,
		uint64_t size_max)
{
	int error;

	*index = (struct eh_frame_index){.section = {.image = header->image,
						     .data_base = header->address,
						     .address = header->frames}};
	error = header->nr ? index_by_table(index, header) : index_by_walk(index, size_max);
	if (error == 0)
		sort(index->entries, index->nr);
	return error;
}

int eh_frame_index_init(struct eh_frame_index *index, const struct eh_frame_header *header)
{
	return init(index, header, FRAMES_MAX);
}

int eh_frame_index_init_frames(struct eh_frame_index *index, const struct eh_frame_header *header,
			       uint64_t size_max)
{
	struct eh_frame_header without = *header;

	without.nr = 0;
	return init(index, &without, size_max);
}

void eh_frame_index_fini(struct eh_frame_index *index)
{
	if (index->entries)
		munmap(index->entries, index->entries_size);
	if (index->section.bytes)
		munmap(index->section.bytes, index->section.size);
	*index = (struct eh_frame_index){0};
}

bool eh_frame_index_find(const struct eh_frame_index *index, uint64_t address, uint32_t *i)
{
	uint32_t low = 0, high = index->nr;

	/* entries[low - 1] begins at or below, entries[high] above. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (index->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*i = low ? low - 1 : 0;
	return low > 0;
}
