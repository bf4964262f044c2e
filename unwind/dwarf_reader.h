/* Takes DWARF's numbers from bytes that may be anything. A read beyond the end returns 0 and sets `failed`, which
 * stays set. Pure. One thread at a time. */
#ifndef DWARF_READER_H
#define DWARF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pointer encodings: Linux Standard Base, "DWARF Exception Header Encoding". */
enum dwarf_pointer {
	DWARF_POINTER_ABSOLUTE = 0x00,
	DWARF_POINTER_ULEB = 0x01,
	DWARF_POINTER_U16 = 0x02,
	DWARF_POINTER_U32 = 0x03,
	DWARF_POINTER_U64 = 0x04,
	DWARF_POINTER_SLEB = 0x09,
	DWARF_POINTER_S16 = 0x0a,
	DWARF_POINTER_S32 = 0x0b,
	DWARF_POINTER_S64 = 0x0c,
	DWARF_POINTER_FORMAT = 0x0f, /* mask of the above */
	DWARF_POINTER_PC = 0x10,     /* from the pointer's own address */
	DWARF_POINTER_DATA = 0x30,   /* from a base: .eh_frame_hdr */
	DWARF_POINTER_BASE = 0x70,   /* mask of the above */
	DWARF_POINTER_INDIRECT = 0x80,
	DWARF_POINTER_OMIT = 0xff,
};

struct dwarf_reader {
	const uint8_t *at, *end; /* borrowed */
	const uint8_t *start;
	uint64_t address; /* of *start, where it was copied from */
	bool failed;
};

/* Reads bytes[0..size), which are a copy of the memory at address. */
static inline struct dwarf_reader dwarf_reader_on(const uint8_t *bytes, size_t size,
						  uint64_t address)
{
	return (struct dwarf_reader){
		.at = bytes, .end = bytes + size, .address = address, .start = bytes};
}

static inline size_t dwarf_reader_left(const struct dwarf_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* The next `size` bytes, which are borrowed until the reader's bytes go. NULL: fewer are left. */
static inline const uint8_t *dwarf_reader_bytes(struct dwarf_reader *reader, uint64_t size)
{
	const uint8_t *bytes = reader->at;

	if (size > dwarf_reader_left(reader)) {
		reader->failed = true;
		reader->at = reader->end;
		return NULL;
	}
	reader->at += size;
	return bytes;
}

static inline uint8_t dwarf_reader_u8(struct dwarf_reader *reader)
{
	if (reader->at == reader->end) {
		reader->failed = true;
		return 0;
	}
	return *reader->at++;
}

/* Little-endian, of 1 to 8 bytes. */
uint64_t dwarf_reader_unsigned(struct dwarf_reader *reader, uint32_t size);
int64_t dwarf_reader_signed(struct dwarf_reader *reader, uint32_t size);

/* Variable length; bits beyond 64 are dropped. */
uint64_t dwarf_reader_uleb(struct dwarf_reader *reader);
int64_t dwarf_reader_sleb(struct dwarf_reader *reader);

/* Reads a pointer in one of the encodings above. DWARF_POINTER_DATA counts from data_base. Indirect pointers, omitted
 * pointers and unknown encodings fail. */
uint64_t dwarf_reader_pointer(struct dwarf_reader *reader, uint8_t encoding, uint64_t data_base);

#endif
