#include "dwarf_reader.h"

uint64_t dwarf_reader_unsigned(struct dwarf_reader *reader, uint32_t size)
{
	const uint8_t *bytes = dwarf_reader_bytes(reader, size);
	uint64_t value = 0;

	for (uint32_t i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

int64_t dwarf_reader_signed(struct dwarf_reader *reader, uint32_t size)
{
	uint32_t shift = 64 - 8 * size;

	return (int64_t)(dwarf_reader_unsigned(reader, size) << shift) >> shift;
}

uint64_t dwarf_reader_uleb(struct dwarf_reader *reader)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = dwarf_reader_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

int64_t dwarf_reader_sleb(struct dwarf_reader *reader)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = dwarf_reader_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

static uint64_t read_format(struct dwarf_reader *reader, uint8_t format)
{
	switch (format) {
	case DWARF_POINTER_ABSOLUTE:
	case DWARF_POINTER_U64:
	case DWARF_POINTER_S64:
		return dwarf_reader_unsigned(reader, 8);
	case DWARF_POINTER_ULEB:
		return dwarf_reader_uleb(reader);
	case DWARF_POINTER_SLEB:
		return (uint64_t)dwarf_reader_sleb(reader);
	case DWARF_POINTER_U16:
		return dwarf_reader_unsigned(reader, 2);
	case DWARF_POINTER_S16:
		return (uint64_t)dwarf_reader_signed(reader, 2);
	case DWARF_POINTER_U32:
		return dwarf_reader_unsigned(reader, 4);
	case DWARF_POINTER_S32:
		return (uint64_t)dwarf_reader_signed(reader, 4);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t dwarf_reader_pointer(struct dwarf_reader *reader, uint8_t encoding, uint64_t data_base)
{
	uint64_t address = reader->address + (uint64_t)(reader->at - reader->start);

	if (encoding & DWARF_POINTER_INDIRECT) { /* DWARF_POINTER_OMIT too */
		reader->failed = true;
		return 0;
	}

	uint64_t value = read_format(reader, encoding & DWARF_POINTER_FORMAT);
	switch (encoding & DWARF_POINTER_BASE) {
	case 0:
		return value;
	case DWARF_POINTER_PC:
		return value + address;
	case DWARF_POINTER_DATA:
		return value + data_base;
	default:
		reader->failed = true;
		return 0;
	}
}
