#include "eh_frame_header.h"

#include <errno.h>

#include "dwarf_reader.h"
#include "process_memory.h"

#define VERSION   1u
#define BYTES_MAX 32u /* more than any header before its table */

/* Reads the table's place, if the table has the one form that linkers write. */
static int read_table(struct eh_frame_header *header, struct dwarf_reader *reader, uint8_t count,
		      uint64_t size)
{
	header->nr = dwarf_reader_pointer(reader, count, header->address);
	if (reader->failed) {
		header->nr = 0;
		return 0;
	}
	uint64_t before = (uint64_t)(reader->at - reader->start);
	header->table = header->address + before;
	return before <= size && header->nr <= (size - before) / EH_FRAME_TABLE_ENTRY ? 0 : -EINVAL;
}

int eh_frame_header_read(struct eh_frame_header *header, const struct eh_frame_image *image,
			 uint64_t address, uint64_t size)
{
	uint8_t bytes[BYTES_MAX];

	*header = (struct eh_frame_header){.image = *image, .address = address};
	if (size > eh_frame_image_left(image, address))
		return -EINVAL;
	size_t held = process_memory_read(address, bytes, size < BYTES_MAX ? size : BYTES_MAX);
	if (held < 4)
		return -EFAULT;

	struct dwarf_reader reader = dwarf_reader_on(bytes, held, address);
	if (dwarf_reader_u8(&reader) != VERSION)
		return -EINVAL;
	uint8_t frames = dwarf_reader_u8(&reader);
	uint8_t count = dwarf_reader_u8(&reader);
	uint8_t table = dwarf_reader_u8(&reader);
	header->frames = dwarf_reader_pointer(&reader, frames, address);
	if ((frames & DWARF_POINTER_BASE) == 0)
		header->frames += image->bias;
	if (reader.failed)
		return -EINVAL;
	/* A number of entries is not an address, so one that is encoded relative to an address is not valid. */
	if (count & ~DWARF_POINTER_FORMAT || table != (DWARF_POINTER_DATA | DWARF_POINTER_S32))
		return 0;
	return read_table(header, &reader, count, size);
}
