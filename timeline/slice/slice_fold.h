/* Folds the events of a part of a profile into a collection that has the profile's names, as the aggregator has folded
 * them: totals, busy times and counts of each process. Part of the slice; one thread. */
#ifndef SLICE_FOLD_H
#define SLICE_FOLD_H

#include "aggregator/profile/collection.h"
#include "timeline/trace/timeline_events.h"
#include "timeline/trace/timeline_steps.h"
#include "uncaptured.h"

struct slice_fold {
	uint64_t from_ns, to_ns;
	/* If there are any, GPU work belongs to the part if its launch is within its process's step
	 * (timeline_steps_of(), borrowed). */
	const struct timeline_step *steps;
	uint32_t nr_steps;
	struct uncaptured_work *in_pauses; /* borrowed */
	uint64_t nr_work;                  /* pieces of GPU work that were folded */
	uint64_t nr_waits;                 /* waits of hosts for GPUs that were folded */
	uint64_t nr_launchless;            /* those pieces of work whose launch was not kept */
};

/* events: all that may belong to the part. Events of processes that the collection lacks are left out, as the source
 * has counted them. 0 or -ENOMEM. */
int slice_fold_add(struct slice_fold *fold, struct collection *collection,
		   const struct timeline_events *events);

#endif
