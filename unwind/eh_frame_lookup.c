#include "eh_frame_lookup.h"

#include "dwarf_reader.h"
#include "process_memory.h"

#define CHUNK       128u /* entries of the search table that are read at once */
#define ENTRY_FIRST 256u /* bytes: of most entries all */
#define LENGTH      4u

int eh_frame_lookup_init(struct eh_frame_lookup *lookup, const struct eh_frame_image *image,
			 uint64_t header, uint64_t header_size)
{
	*lookup = (struct eh_frame_lookup){.index = {.nr = 0}};
	int error = eh_frame_header_read(&lookup->header, image, header, header_size);

	if (error || lookup->header.nr)
		return error;
	return eh_frame_index_init_frames(&lookup->index, &lookup->header, EH_FRAME_LIST_MAX);
}

int eh_frame_lookup_init_frames(struct eh_frame_lookup *lookup, const struct eh_frame_image *image,
				uint64_t frames, uint64_t size)
{
	*lookup = (struct eh_frame_lookup){.header = {.image = *image, .frames = frames}};
	return eh_frame_index_init_frames(&lookup->index, &lookup->header,
					  size < EH_FRAME_LIST_MAX ? size : EH_FRAME_LIST_MAX);
}

void eh_frame_lookup_fini(struct eh_frame_lookup *lookup)
{
	eh_frame_index_fini(&lookup->index);
}

uint64_t eh_frame_lookup_bytes(const struct eh_frame_lookup *lookup)
{
	return lookup->index.section.size + lookup->index.entries_size;
}

/* ---- by the search table */

static int64_t word_at(const uint8_t *bytes)
{
	struct dwarf_reader reader = dwarf_reader_on(bytes, 4, 0);

	return dwarf_reader_signed(&reader, 4);
}

/* Narrows the table down to a chunk [*low, *high). The entries before it begin at or below the address, those behind it
 * begin above. */
static bool narrow(const struct eh_frame_header *header, int64_t wanted, uint64_t *low,
		   uint64_t *high)
{
	uint8_t word[4];

	while (*high - *low > CHUNK) {
		uint64_t middle = *low + (*high - *low) / 2;

		if (process_memory_read(header->table + middle * EH_FRAME_TABLE_ENTRY, word,
					sizeof(word)) != sizeof(word))
			return false;
		if (word_at(word) <= wanted)
			*low = middle;
		else
			*high = middle;
	}
	return true;
}

/* Finds the last entry that begins at or below the address. */
static bool find_in_table(const struct eh_frame_header *header, uint64_t address, uint64_t *entry)
{
	int64_t wanted = (int64_t)(address - header->address);
	uint64_t low = 0, high = header->nr, i = 0;
	uint8_t chunk[CHUNK * EH_FRAME_TABLE_ENTRY];

	if (!narrow(header, wanted, &low, &high))
		return false;
	size_t size = (size_t)(high - low) * EH_FRAME_TABLE_ENTRY;
	if (process_memory_read(header->table + low * EH_FRAME_TABLE_ENTRY, chunk, size) != size)
		return false;
	while (i < high - low && word_at(chunk + i * EH_FRAME_TABLE_ENTRY) <= wanted)
		i++;
	if (i == 0)
		return false;
	*entry = header->address + (uint64_t)word_at(chunk + (i - 1) * EH_FRAME_TABLE_ENTRY + 4);
	return true;
}

/* Copies an entry, or its beginning if it is larger than the room or leads out of the image. */
static struct frame_section copy_entry(const struct eh_frame_header *header, uint64_t address,
				       uint8_t *bytes, size_t max)
{
	uint64_t left = eh_frame_image_left(&header->image, address);
	if (max > left)
		max = (size_t)left;
	size_t first = max < ENTRY_FIRST ? max : ENTRY_FIRST;
	size_t held = process_memory_read(address, bytes, first);
	struct dwarf_reader reader = dwarf_reader_on(bytes, held, address);
	uint64_t wanted = dwarf_reader_unsigned(&reader, LENGTH) + LENGTH;

	if (wanted > max)
		wanted = max;
	if (held == first && wanted > held)
		held += process_memory_read(address + held, bytes + held, (size_t)wanted - held);
	return (struct frame_section){.image = header->image,
				      .address = address,
				      .bytes = bytes,
				      .size = held,
				      .data_base = header->address};
}

static bool read_entry(const struct eh_frame_header *header, uint64_t address,
		       struct eh_frame_found *found)
{
	struct frame_section entry =
		copy_entry(header, address, found->entry, sizeof(found->entry));
	struct frame_common common;
	uint64_t common_address;

	if (!frame_description_common(&entry, 0, &common_address))
		return false;
	struct frame_section common_entry =
		copy_entry(header, common_address, found->common, sizeof(found->common));

	return frame_common_parse(&common_entry, 0, &common) &&
	       frame_description_parse_apart(&entry, 0, &common, &found->description);
}

/* ---- both */

static bool find_in_index(const struct eh_frame_index *index, uint64_t address,
			  struct eh_frame_found *found)
{
	struct frame_common_cache cache = {.nr = 0};
	uint32_t i;

	return eh_frame_index_find(index, address, &i) &&
	       frame_description_parse(&index->section, &cache, index->entries[i].at,
				       &found->description);
}

bool eh_frame_lookup_find(const struct eh_frame_lookup *lookup, uint64_t address,
			  struct eh_frame_found *found)
{
	const struct frame_description *description = &found->description;
	uint64_t entry;
	bool is_there;

	if (lookup->header.nr)
		is_there = find_in_table(&lookup->header, address, &entry) &&
			   read_entry(&lookup->header, entry, found);
	else
		is_there = find_in_index(&lookup->index, address, found);
	return is_there && address >= description->start && address < description->end;
}
