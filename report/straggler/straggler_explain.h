/* Finds why a rank is late: what it does more of than other ranks of its communicator. Part of report_straggler; one
 * thread. */
#ifndef STRAGGLER_EXPLAIN_H
#define STRAGGLER_EXPLAIN_H

#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/roster.h"
#include "report/causes/straggler_causes.h"
#include "report/lateness/straggler_groups.h"
#include "report/profile/profile.h"

/* A late rank of a communicator, alone or as one of a group. */
struct straggler_late {
	const struct collective_fold *fold;
	uint32_t member;
	const struct straggler_group
		*group; /* NULL: alone. Its ranks are not compared with one another */
	const struct straggler_subject *found;
	/* CLOCK_REALTIME, of the part of the run for which it is named; 0: all of the run, or not known */
	uint64_t part_start_ns, part_end_ns;
};

/* store_path: of the profile, from which samples are read that were kept one by one. The caller owns *causes:
 * straggler_causes_free(). Without another rank there are none. 0, or as straggler_causes_find(). */
int straggler_explain(const struct profile *profile, const char *store_path,
		      const struct collective_folds *folds, const struct straggler_late *late,
		      struct straggler_cause **causes, uint32_t *nr_causes,
		      struct straggler_scope *scope);

#endif
