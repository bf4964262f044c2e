/* A file's rows as they are compiled: sorted by pc, no two neighbours with the same rule. One
 * thread. mmap, not malloc. */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_row.h"

struct unwind_rows {
	struct unwind_row *rows; /* owns */
	size_t nr, room;
	size_t max; /* rows */
	int error;  /* of the first row that was not kept: -ENOSPC (above max), -ENOMEM */
};

/* Empty, with room for bytes_max bytes at most. Nothing is mapped yet. */
void unwind_rows_init(struct unwind_rows *rows, uint64_t bytes_max);
void unwind_rows_fini(struct unwind_rows *rows);

/* From pc on this rule holds. pc must not fall; at the same pc the later rule wins. */
void unwind_rows_put(struct unwind_rows *rows, uint32_t pc, uint32_t rule);

/* Gives back the room that is not used. Returns the bytes that stay mapped. */
uint64_t unwind_rows_trim(struct unwind_rows *rows);

#endif
