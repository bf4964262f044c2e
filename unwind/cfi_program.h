/* Runs DWARF's call frame programs and writes down, as rows, the little of their outcome that the
 * walk needs. x86_64's registers. Pure: reads only the bytes that it is given, whatever they hold.
 * One thread at a time. */
#ifndef CFI_PROGRAM_H
#define CFI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_rows;

/* What a common information entry says for its functions. */
struct cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column; /* register number of the return address */
	const uint8_t *program; /* borrowed: the instructions that each function's begin with */
	size_t program_size;
};

/* The rows of one function, from start up to end (from the segment's start). A program that makes
 * no sense gives the unsupported rule from there on. */
void cfi_program_run(const struct cfi_common *common, const uint8_t *program, size_t program_size,
		     uint32_t start, uint32_t end, struct unwind_rows *rows);

#endif
