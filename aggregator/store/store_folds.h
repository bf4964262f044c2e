/* The store's tables of folded collectives; part of the store. As calls come, they are rows of store_collectives.h.
 * From time to time those that wait for nothing are folded, and most of their rows deleted. All state is in the store.
 * Single-threaded. */
#ifndef STORE_FOLDS_H
#define STORE_FOLDS_H

#include <stdbool.h>

#include "database.h"

#include "aggregator/profile/collective_folds.h"

/* Calls are folded once so many have come, and as many as there were rows after the last time. */
#define STORE_FOLDS_ROUND 8192u

/* Embedded; zeroed memory is the start. */
struct store_folds {
	uint64_t added, kept; /* rows since the last round, and after it */
	bool counted;
};

/* Folds, within the open transaction, if it is time. The log has the calls that the transaction adds. 0, or an error
 * of database.h. */
int store_folds_write(struct store_folds *state, struct database *database,
		      const struct collective_log *log);

/* Reads folded and raw rows into what is empty; most as of store_collectives_read(). 0; -EPROTO, -EIO, -ENOMEM. */
int store_folds_read(struct database *database, struct collective_folds *folds, uint32_t most);

#endif
