/* Launches whose GPU work may come in a later stretch of time, so that no launch is read twice. Those without work are
 * kept for STEP_PENDING_NS, those of graphs a little longer than their last work. Used by one thread. */
#ifndef STEP_PENDING_H
#define STEP_PENDING_H

#include <stdbool.h>

#include "timeline/trace/timeline_events.h"

#define STEP_PENDING_NS 10000000000u
#define STEP_PENDING_GRAPH_NS                                                                      \
	10000000u /* two pieces of a graph's work are no further apart, or the second has no launch */

struct step_pending_launch {
	struct timeline_launch launch;
	uint64_t end_ns; /* of its last work so far; 0: none came */
	uint32_t before; /* stack of the thread's launch before it; 0: not known */
};

struct step_pending {
	struct step_pending_launch *launches; /* owns; by process, window and correlation id */
	uint32_t nr_launches, room_launches;
};

/* Returns the launch of work that no launch of its own stretch is of, and notes the work's end. NULL: it is not kept.
 * Borrowed until the next other call. */
const struct step_pending_launch *step_pending_find(struct step_pending *pending,
						    const struct timeline_work *work);

/* Forgets launches that are too old at the end of a stretch; is_old() says whether one is. */
void step_pending_next(struct step_pending *pending, uint64_t to_ns);
bool step_pending_is_old(const struct step_pending_launch *launch, uint64_t to_ns);

/* Adds a launch. 0 or -ENOMEM. It can be found after sort(). */
int step_pending_add(struct step_pending *pending, const struct step_pending_launch *launch);
void step_pending_sort(struct step_pending *pending);
void step_pending_fini(struct step_pending *pending);

#endif
