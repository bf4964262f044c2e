/* The events of a log within a time and of some ranks, in order, with the flows from launches to their GPU work. Used
 * by one thread. */
#ifndef TIMELINE_EVENTS_H
#define TIMELINE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline_source.h"

#include "aggregator/core/fold_table.h"

#define TIMELINE_EVENTS_MARKS_NS 30000000000u /* how far marks are looked for around a time */

/* How far behind a launch its GPU work is looked for at first, and the other way round; where something is missing, so
 * many times as far. */
#define TIMELINE_EVENTS_REACH_NS     1000000000u
#define TIMELINE_EVENTS_REACH_FACTOR 8u

struct timeline_events {
	/* Sorted by process, then by time. GPU work is there as a whole if a part of it is within the range. */
	struct timeline_launch *launches, *marks; /* owns both */
	struct timeline_work *work;               /* owns */
	uint32_t nr_launches, room_launches, nr_marks, room_marks, nr_work, room_work;
	uint64_t from_ns, to_ns; /* the range */
	uint64_t host_to_ns;     /* to_ns before it was extended: the end of launches and marks */
	uint32_t events_max;     /* as in the request */
	uint32_t nr_flows, nr_ranks; /* nr_ranks: processes with events here */
	uint64_t
		nr_launchless; /* pieces of GPU work whose launch is not here, nor behind host_to_ns */
	uint64_t nr_workless; /* launches whose GPU work is not here */
	struct timeline_counts counts;
};

/* reaches: the range is that of host work, and is extended to the end of the GPU work that this has launched. Errors as
 * timeline_source_read(), and -EFBIG: there are more events than range->events_max. Call timeline_events_fini() in any
 * case. */
int timeline_events_read(struct timeline_source *source, const struct timeline_request *range,
			 bool reaches, struct timeline_events *events);

/* Adds marks from before and behind the range, so that ranges and steps with a part in it have their begins and ends.
 * Errors as timeline_source_read(). */
int timeline_events_marks_around(struct timeline_source *source,
				 const struct timeline_request *range,
				 struct timeline_events *events);
/* Returns the row of totals that the work belongs to. */
struct fold_key timeline_events_key(const struct timeline_events *events,
				    const struct timeline_work *work);
void timeline_events_fini(struct timeline_events *events);

#endif
