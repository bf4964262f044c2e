/* A file's rows as they are compiled: sorted by pc, and no two neighbours have the same rule. One thread at a time.
 * Memory comes from mmap(), not malloc(). */
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

/* Makes *rows empty; it may grow to bytes_max bytes, in whole pages, and at least 64 KiB. Nothing is mapped yet. */
void unwind_rows_init(struct unwind_rows *rows, uint64_t bytes_max);
void unwind_rows_fini(struct unwind_rows *rows);

/* Says that `rule` holds from pc on. pc must not fall from call to call. At the same pc the later rule wins. */
void unwind_rows_put(struct unwind_rows *rows, uint32_t pc, uint32_t rule);

#endif
