/* Runs DWARF's call frame programs, and writes as rows the part of their outcome that the walk needs. Knows the
 * registers of x86_64. Pure: it reads only the bytes that it is given, whatever they hold. One thread at a time. */
#ifndef CFI_PROGRAM_H
#define CFI_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct unwind_rows;

/* What a common information entry says for its functions. */
struct cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column; /* register number of the return address */
	const uint8_t *program; /* borrowed: the instructions with which each function's program begins */
	size_t program_size;
};

/* Appends the rows of one function. start and end are bytes from the segment's start, end exclusive. From the place
 * where the program makes no sense, the function has the unsupported rule. */
void cfi_program_run(const struct cfi_common *common, const uint8_t *program, size_t program_size,
		     uint32_t start, uint32_t end, struct unwind_rows *rows);

#endif
