/* The rows of a cubin's line table (.debug_line): for each place in the code its file and line, and the row that called
 * it where a function was inlined. The format is DWARF's with what NVIDIA's assembler adds, as nvcc 13.0 writes it and
 * elfutils reads it (libdw/dwarf_getsrclines.c); Triton uses the same assembler:
 *   - Behind the table of files the header has 4 bytes more: where the unit's strings begin in .debug_str. Tables of
 *     unoptimized code (-G) lack them, and have no inlined functions.
 *   - Extended opcode 0x90, two ULEB numbers: the rows that follow are of a function that was inlined. The first number
 *     is the caller's row, counted from 1 within the sequence. Any number but that of an earlier row: nothing is
 *     inlined. The second is the function's name, an offset from the unit's strings. 0x91, a ULEB number: the name
 *     alone.
 *   - Each kernel starts at 0 of its own section, so that sequences overlap; relocations tell them apart
 *     (cubin_targets.h). libdw merges them, and finds callers of one kernel in another.
 * Pure; one thread at a time. */
#ifndef CUBIN_ROWS_H
#define CUBIN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cubin_image.h"

struct cubin_targets;

#define CUBIN_ROWS_MAX  (1u << 20) /* rows and ends of sequences of a table: 32 bytes each */
#define CUBIN_FILES_MAX (1u << 18) /* of all units of a table */

#define CUBIN_NAME_NONE UINT32_MAX
#define CUBIN_ROW_END   UINT32_MAX

struct cubin_row {
	uint32_t file;   /* index + 1; 0: not known */
	uint32_t line;   /* 0: no line of the source */
	uint32_t caller; /* index of the row that called, + 1; 0: nothing is inlined */
	uint32_t name;   /* of the inlined function (cubin_names.h); CUBIN_NAME_NONE: not known */
};

/* Where the code of a row begins. It goes on until the next place of its section. */
struct cubin_place {
	uint64_t address; /* within the section */
	uint32_t section;
	uint32_t row; /* index; CUBIN_ROW_END: a sequence ends here */
};

/* Offsets in the line table of texts that end in a NUL. */
struct cubin_file {
	uint32_t name;
	uint32_t directory; /* 0: it has none */
};

struct cubin_unit {
	uint32_t first_row; /* index; its rows end where those of the next unit begin */
	uint32_t strings;   /* where they begin in .debug_str; CUBIN_NAME_NONE: it has none */
};

/* Embedded; zeroed memory has no rows. The caller owns the arrays: cubin_rows_fini(). */
struct cubin_rows {
	struct cubin_row *rows; /* in the order of the table */
	uint32_t nr_rows, room_rows;
	struct cubin_place *places; /* by section and address; of equal ones the last one counts */
	uint32_t nr_places, room_places;
	struct cubin_file *files;
	uint32_t nr_files, room_files;
	struct cubin_unit *units;
	uint32_t nr_units, room_units;
	bool has_names;
};

/* Reads the table, which is a section of the image. 0; -EBADMSG: the table is damaged or has more rows or files than
 * the bounds above; -ENODATA: it has no unit of DWARF 2 to 4; -ENOMEM. On error the rows are to be ended, too. */
int cubin_rows_init(struct cubin_rows *rows, const struct cubin_image *image,
		    const struct cubin_section *table, const struct cubin_targets *targets);
void cubin_rows_fini(struct cubin_rows *rows);

#endif
