/* Finds since when a rank or a group is late in a look, and how long a step would take without that (watch_replay.h).
 * Pure; one thread. */
#ifndef WATCH_COST_H
#define WATCH_COST_H

#include <stdint.h>

#include "watch_finding.h"
#include "watch_recent.h"

#include "report/straggler/report_straggler_result.h"

struct watch_cost_subject {
	const struct report_straggler_communicator *on;
	const uint32_t *members; /* of the fold */
	uint32_t nr_members;
};

/* Sets age_ns, over_ns, and step where it is seen. step.without_ns cannot be computed where ranks wait in sends and
 * receives. finding->ground is set. 0 or -ENOMEM. */
int watch_cost_measure(const struct watch_recent *recent, const struct watch_cost_subject *subject,
		       struct watch_finding *finding);

#endif
