/* The store's tables of folded collectives; part of the store. From time to time calls that wait for nothing are
 * folded: most of those that are rows of store_collectives.h are deleted, and most new ones never become rows. All
 * state is in the store. Single-threaded. */
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
	bool folded; /* since store_folds_take_news() */
};

/* Folds, within the open transaction, if it is time. calls are what the transaction adds, joined with their kernels:
 * those that need no row are taken out, and others are told whether they are folded. 0, or an error of database.h. */
int store_folds_write(struct store_folds *state, struct database *database,
		      struct collective_log_call *calls, uint32_t *nr_calls);

/* Returns whether calls were folded since the last call. */
bool store_folds_take_news(struct store_folds *state);

/* Reads folded and raw rows into what is empty; most as of store_collectives_read(). 0; -EPROTO, -EIO, -ENOMEM. */
int store_folds_read(struct database *database, struct collective_folds *folds, uint32_t most);

/* Reads processes and the newest raw rows alone, folded ones too, as of store_collectives_read_newest(). */
int store_folds_read_newest(struct database *database, struct collective_folds *folds,
			    uint64_t window_ns, uint32_t least);

#endif
