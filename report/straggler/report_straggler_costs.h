/* Takes back the names of what costs little of the run. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_COSTS_H
#define REPORT_STRAGGLER_COSTS_H

#include <stdint.h>

struct report_straggler;

/* A rank or a group of a communicator that was there for a small part of the run can be much of its span, and little of
 * the run. It is named no more if none of its ranks costs more than STRAGGLER_SHARE_MIN of the rank's whole run. A rank
 * costs what the mean of the others waited for it, and for its groups, on all communicators on which they are named.
 * One delay makes a rank late on several: while it was on them at the same time, the costliest counts. In the pipelines
 * the same waits may count again: the greater of both sums counts. Call it when all communicators are judged. 0 or
 * -ENOMEM. */
int report_straggler_costs_keep(struct report_straggler *report, const uint32_t *rank_of);

#endif
