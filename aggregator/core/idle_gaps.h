/* Finds the gaps between a device's pieces of work. Pure. */
#ifndef IDLE_GAPS_H
#define IDLE_GAPS_H

#include <stdint.h>

#include "idle_fold.h"
#include "idle_work.h"

/* A gap, and the process whose launch ended it. */
struct process_gap {
	struct idle_gap gap;
	uint32_t process_id;
};

/* What is asked of a device: gaps that begin and end in this time of CUPTI's clock. */
struct idle_gaps_span {
	uint64_t from_ns, to_ns;
	uint64_t window_ns; /* from the first work to the last; UINT64_MAX: no gap is a pause */
};

/* Finds the gaps of work that idle_work_merge() has put in order, by process and then by time. *ns: their sum. The
 * caller owns *gaps (free()). 0 or -ENOMEM: *gaps is NULL. */
int idle_gaps_find(const struct idle_work *work, uint32_t nr_work,
		   const struct idle_gaps_span *span, struct process_gap **gaps, uint32_t *nr_gaps,
		   uint64_t *ns);

/* Takes the plain gaps of the first process of these to plain, which has room for all. Returns their number. */
uint32_t idle_gaps_of_process(const struct process_gap *gaps, uint32_t nr_gaps,
			      struct idle_gap *plain);

#endif
