/* Calls of collective libraries (NCCL) beside the events of a timeline: those that the profile keeps one by one, with
 * flows that join a collective's calls and kernels on all ranks. Used by one thread. */
#ifndef TIMELINE_CALLS_H
#define TIMELINE_CALLS_H

#include "timeline_events.h"

#include "aggregator/profile/collective_folds.h"

struct timeline_call {
	uint64_t begin_ns, end_ns; /* on the common clock, of the host's call */
	uint64_t bytes;
	uint64_t key,
		sequence; /* of the collective; key or sequence 0: it is not known which this is */
	uint32_t process_id, tid, correlation_id;
	uint32_t flow;    /* 0: of no other rank a call is here */
	uint8_t function; /* enum collective_function */
};

struct timeline_calls {
	struct timeline_call *calls; /* owns; by process, thread and time */
	uint32_t nr_calls, room_calls;
};

/* Takes the calls of the request's ranks with a part in the events' time. Numbers of flows follow those of launches,
 * and are set in events->work, too. 0; -ENOMEM. Call timeline_calls_fini() in any case. */
int timeline_calls_init(struct timeline_calls *calls, struct timeline_source *source,
			const struct timeline_request *request,
			const struct collective_folds *folds, struct timeline_events *events);
void timeline_calls_fini(struct timeline_calls *calls);

#endif
