/* Tells how evenly the ranks of a communicator work between exchanges of all with all (all_to_all, or sends and
 * receives of all ranks in one group). In a mixture of experts each rank has experts, and the one that gets most tokens
 * holds up the others. A rank that is late there is compared with the others by the time that its GPU computes between
 * exchanges. If no rank is late, but the ranks wait for EXPERTS_SHARE_MIN of the time, each time for another one, that
 * is an imbalance, and nobody is to blame. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_EXPERTS_H
#define REPORT_STRAGGLER_EXPERTS_H

#include "report_straggler_result.h"

#include "report/profile/profile.h"

#define REPORT_STRAGGLER_EXPERTS_SHARE_MIN 0.05
#define REPORT_STRAGGLER_EXPERTS_BYTES_MIN                                                         \
	1.05 /* an expert that gets more tokens has so many more bytes */
#define REPORT_STRAGGLER_EXPERTS_EXPLAINS                                                          \
	0.25 /* of the lateness: what its computing explains at least */

/* Fills report->experts. look: only work as new as its window counts; NULL: that of the whole run. The ranks are
 * judged, and their communicators do not change any more. 0; -EPROTO; other errors of database.h; -ENOMEM. */
int report_straggler_experts_find(const struct profile *profile, const char *store_path,
				  const struct straggler_look *look,
				  struct report_straggler *report);

#endif
