/* The latest launches of a process, found by what their GPU work names. Work finds the same launch as in
 * timeline_events.h, as long as both are here; what may differ is told. Room is by correlation ids, which rise, so a
 * launch goes when another one with the same place comes. Of those that have gone the ids stay. Part of the slice; one
 * thread. */
#ifndef RECENT_LAUNCHES_H
#define RECENT_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch_ids.h"

#include "timeline/trace/timeline_source.h"

/* A launch whose work did not come yet gets more room, unless the next in its place is so much later. */
#define RECENT_LAUNCHES_WAIT_NS 10000000000u
#define RECENT_LAUNCHES_MOST    (1u << 18) /* places */

struct recent_launch {
	uint64_t time_ns;
	uint32_t tid, stack_id;
};

struct recent_place {
	struct recent_launch launch, call; /* a call is one of RECORD_LAUNCH_HOST */
	uint32_t correlation_id;
	uint16_t window;
	bool has_launch, has_call, was_found;
};

/* Zeroed memory has none. */
struct recent_launches {
	struct recent_place *places;        /* owns */
	uint32_t nr_places;                 /* 0, or a power of two */
	struct launch_ids gone, gone_calls; /* those that have no place any more */
	struct launch_ids launchless;       /* of recent_launches_lacks() */
	bool is_late;                       /* a launch came behind that */
	bool is_odd; /* what was found, or not, may be something else if all launches are known */
};

void recent_launches_fini(struct recent_launches *launches);

/* *room_bytes: what all that share it may take; it becomes less. Launches that fail, and marks, are none. 0 or
 * -ENOMEM. */
int recent_launches_add(struct recent_launches *launches, const struct timeline_launch *launch,
			size_t *room_bytes);

/* Fetches the place of the work's launch into the processor's cache. Changes nothing. */
static inline void recent_launches_prefetch(const struct recent_launches *launches,
					    const struct timeline_work *work)
{
	if (launches->nr_places)
		__builtin_prefetch(
			&launches->places[work->correlation_id & (launches->nr_places - 1)], 1);
}

/* NULL: it is not here. Borrowed until the next add. */
const struct recent_launch *recent_launches_find(struct recent_launches *launches,
						 const struct timeline_work *work);

/* Notes that work has no launch, because it is not here. *is_sure: it has not been here and gone. *room_bytes: as
 * before. 0 or -ENOMEM. */
int recent_launches_lacks(struct recent_launches *launches, const struct timeline_work *work,
			  size_t *room_bytes, bool *is_sure);

#endif
