/* Makes cubins of line tables that tests write opcode by opcode. Single-threaded. */
#ifndef CUBIN_FIXTURE_H
#define CUBIN_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIXTURE_BYTES_MAX   (1u << 16)
#define FIXTURE_SYMBOLS_MAX 64u

/* Sections that symbols may lie in. */
enum {
	FIXTURE_TEXT_A = 7,
	FIXTURE_TEXT_B = 8,
};

struct fixture_symbol {
	const char *name;
	uint16_t section;
	uint64_t start, size;
};

/* Zeroed, it is a cubin without lines. */
struct cubin_fixture {
	uint8_t table[FIXTURE_BYTES_MAX]; /* .debug_line */
	size_t table_size;
	const char *strings; /* .debug_str */
	size_t strings_size;
	struct fixture_symbol symbols[FIXTURE_SYMBOLS_MAX];
	uint32_t nr_symbols;
	struct {
		uint64_t at;
		uint32_t symbol, type; /* symbol: index in the symbols */
		int64_t addend;
	} relocations[FIXTURE_SYMBOLS_MAX];
	uint32_t nr_relocations;
	int without_addends; /* REL: the table holds them */
	uint16_t version;    /* of the unit; 0: 2 */
	uint8_t string_base; /* the unit's own, behind its files */
	size_t unit;         /* offset of the unit */
};

void fixture_byte(struct cubin_fixture *fixture, uint32_t byte);
void fixture_number(struct cubin_fixture *fixture, uint64_t number); /* ULEB */
void fixture_bytes(struct cubin_fixture *fixture, const void *bytes, size_t size);

/* Begins a unit with the files "/src/one.cu" (1), "two.h" without a directory (2) and "/abs/three.h" (3), and ends it. */
void fixture_begin(struct cubin_fixture *fixture);
void fixture_end(struct cubin_fixture *fixture);

void fixture_symbol_add(struct cubin_fixture *fixture, const char *name, uint16_t section,
			uint64_t start, uint64_t size);

/* Sets the address to that of a symbol, which was added before. */
void fixture_address(struct cubin_fixture *fixture, uint32_t symbol, int64_t addend);

/* Goes on by bytes of code and lines of the source, and makes a row. */
void fixture_row(struct cubin_fixture *fixture, uint32_t bytes, int32_t lines);
void fixture_inline(struct cubin_fixture *fixture, uint64_t caller, uint64_t name);
void fixture_end_sequence(struct cubin_fixture *fixture, uint32_t bytes);

/* A kernel of two rows, at 0 and at 16, of 64 bytes. */
void fixture_kernel(struct cubin_fixture *fixture, uint32_t symbol, int64_t addend, int32_t line);

/* The caller owns the image: free(). The second one is that of a fixture made anew, with kernel "a" from line 10 on. */
uint8_t *fixture_image(const struct cubin_fixture *fixture, size_t *size);
uint8_t *fixture_small_image(struct cubin_fixture *fixture, size_t *size);

/* The same with one row of kernel "a", at this line; or without a line table. */
uint8_t *fixture_kernel_image(int32_t line, bool has_lines, uint32_t *size);

#endif
