/* The GPU work of one run, as it is needed to tell whether another run does more of it: exact sums by kernel and rank,
 * and how much the work differs from time to time. Used by one thread; immutable once made. */
#ifndef RUN_WORK_H
#define RUN_WORK_H

#include "run_item.h"

#include "report/model/report_tree.h"
#include "report/profile/profile.h"

/* tree: of the profile, for its ledger and its lines. 0, or -errno with *error one line, which the caller owns
 * (free()), or NULL. On error *work is NULL. */
int run_work_create(const struct profile *profile, const struct report_tree *tree,
		    const char *store_path, struct run_work **work, char **error);
void run_work_destroy(struct run_work *work); /* accepts NULL */

/* Returns the item with the kind and name of one of another run; NULL: the run has none. */
const struct run_item *run_work_find(const struct run_work *work, const struct run_item *like);

/* Returns how many ranks the run has: as many as a number of the unit is of; or, where that tells none, by their
 * numbers. 0: it has no work. */
uint32_t run_work_ranks(const struct run_work *work, enum run_unit unit);

/* Returns whether one is a copy of the other: both have the same work to the nanosecond, on the same GPUs, in the same
 * time. */
bool run_work_equals(const struct run_work *a, const struct run_work *b);

#endif
