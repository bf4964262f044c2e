/* Copies the totals of a profile, and its sums of host samples, into the merged one, with the ids that things have
 * there. They are most of a profile's rows, so they become blocks (store_totals.h). Single-threaded. */
#ifndef MERGE_TOTALS_H
#define MERGE_TOTALS_H

#include "merge_map.h"

#include "aggregator/store/database.h"

struct merge_totals;

/* merged: borrowed until destroy. 0 or the database's error; *totals is then NULL. */
int merge_totals_create(struct database *merged, struct merge_totals **totals);
void merge_totals_destroy(struct merge_totals *totals); /* accepts NULL */

/* Copies what belongs to processes that the map has. 0; -EPROTO: damaged; -ENOMEM; the error of a database. */
int merge_totals_copy(struct merge_totals *totals, struct database *profile,
		      const struct merge_map *map);

/* Makes rows of the blocks, unless there are more than most totals, after the last profile and before the merged one's
 * transaction ends. 0 or an error as above. */
int merge_totals_end(struct merge_totals *totals, int64_t most);

#endif
