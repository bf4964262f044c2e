/* Copies the rows of a profile into the merged one, with the ids that things have there. */
#ifndef MERGE_COPY_H
#define MERGE_COPY_H

#include "merge_map.h"

#include "aggregator/store/database.h"

struct merge_copy;

/* merged: a store with no row in the tables of merge_table.h; borrowed until destroy. 0 or the database's error. */
int merge_copy_create(struct database *merged, struct merge_copy **copy);
void merge_copy_destroy(struct merge_copy *copy); /* accepts NULL */

/* Copies all rows of a profile but those of a process, an epoch or a writer that map does not have. 0; -EPROTO: a block
 * is not one; -ENOMEM; the error of a database. */
int merge_copy_rows(struct merge_copy *copy, struct database *profile, const struct merge_map *map);

/* Ends the copy: makes rows of the totals' blocks, unless there are more than most (merge_totals_end()). Call it after
 * the last profile, before the merged one's transaction ends. 0 or an error as above. */
int merge_copy_end(struct merge_copy *copy, int64_t most);

#endif
