/* Tells whether two processes are of one rank of a job, or of different jobs. Jobs without a name are told apart by who
 * wrote them. Pure; any thread. */
#ifndef STRAGGLER_RANK_H
#define STRAGGLER_RANK_H

#include <stdbool.h>

#include "aggregator/profile/roster.h"

static inline bool straggler_rank_same(const struct roster_process *a,
				       const struct roster_process *b)
{
	return a->rank >= 0 && a->rank == b->rank && a->job == b->job &&
	       (a->job || a->identity.writer == b->identity.writer);
}

/* Returns whether two processes are of jobs with different names. Several writers may record one job without a name. */
static inline bool straggler_rank_other_job(const struct roster_process *a,
					    const struct roster_process *b)
{
	return a->job && b->job && a->job != b->job;
}

#endif
