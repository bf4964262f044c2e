#include "python_line.h"

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Objects/lnotab_notes.txt: pairs of an unsigned step of the address and a signed one of the
 * line. */
static uint32_t from_lnotab(const uint8_t *table, size_t size, int32_t first_line, int32_t offset)
{
	int64_t address = 0, line = first_line;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

#define PAIR_NO_LINE (-128)

/* Objects/lnotab_notes.txt of 3.10: pairs of a range's length and its line's step; -128: no
 * line. */
static uint32_t from_pairs(const uint8_t *table, size_t size, int32_t first_line, int32_t offset)
{
	int64_t end = 0, line = first_line;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		line += step == PAIR_NO_LINE ? 0 : step;
		if (offset < end)
			return step == PAIR_NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

struct location_reader {
	const uint8_t *table;
	size_t size, at;
};

/* Six bits a byte, the lowest first; bit 6: more follow. */
static uint64_t read_varint(struct location_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; reader->at < reader->size && shift < 60; shift += 6) {
		uint8_t byte = reader->table[reader->at++];

		value |= (uint64_t)(byte & 63u) << shift;
		if (!(byte & 64u))
			break;
	}
	return value;
}

static int64_t read_signed_varint(struct location_reader *reader)
{
	uint64_t value = read_varint(reader);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Objects/locations.md: the kinds of an entry. Those below 10 keep the line. */
enum {
	LOCATION_ONE_LINE0 = 10,
	LOCATION_ONE_LINE2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* Bit 7 is set in the first byte of an entry only; it holds the kind in bits 3 to 6 and one less
 * than the length, in units, in bits 0 to 2. */
static uint32_t from_locations(const uint8_t *table, size_t size, int32_t first_line,
			       int32_t offset)
{
	struct location_reader reader = {.table = table, .size = size};
	int64_t end = 0, line = first_line;

	while (reader.at < size) {
		uint8_t first = table[reader.at++];
		unsigned kind = first >> 3 & 15u;

		end += 2 * ((first & 7) + 1);
		if (kind >= LOCATION_ONE_LINE0 && kind <= LOCATION_ONE_LINE2)
			line += kind - LOCATION_ONE_LINE0;
		else if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += read_signed_varint(&reader);
		if (offset < end)
			return kind == LOCATION_NONE ? 0 : as_line(line);
		while (reader.at < size && !(table[reader.at] & 0x80u))
			reader.at++;
	}
	return 0;
}

uint32_t python_line(enum python_line_format format, const uint8_t *table, size_t size,
		     int32_t first_line, int32_t offset)
{
	if (format == PYTHON_LINE_LNOTAB)
		return from_lnotab(table, size, first_line, offset);
	if (offset < 0)
		return as_line(first_line);
	return format == PYTHON_LINE_PAIRS ? from_pairs(table, size, first_line, offset)
					   : from_locations(table, size, first_line, offset);
}
