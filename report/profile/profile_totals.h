/* The totals of a profile's GPU work, row by row. A large profile keeps them as encoded as the store has them: ten
 * bytes a row, in place of a hundred. Part of profile; used by one thread. */
#ifndef PROFILE_TOTALS_H
#define PROFILE_TOTALS_H

#include <stdint.h>

#include "aggregator/core/fold_table.h"

struct database;

struct profile_totals {
	struct profile_totals_block {
		uint32_t process, count, size;
		uint8_t *bytes; /* owns */
	} * blocks;             /* owns */
	uint32_t nr_blocks;
};

/* Loads what the store has as blocks; rows get what it has as rows. 0 or an error as of profile_load(). Call
 * profile_totals_fini() in either case. */
int profile_totals_load(struct database *database, struct profile_totals *totals,
			struct fold_table *rows);
void profile_totals_fini(struct profile_totals *totals);

/* Gives each row of the table and of the blocks to take(), as long as that returns 0. Returns what take() did; -EPROTO:
 * a block is damaged; or -ENOMEM. */
int profile_totals_each(const struct profile_totals *totals, const struct fold_table *table,
			int (*take)(void *context, const struct fold_row *row), void *context);

#endif
