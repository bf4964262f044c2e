/* Puts a process's events on lanes, and its begins and ends in order. A lane is a track of a viewer: slices on it must
 * not overlap. A stream or a thread has one lane, and further ones for events that overlap, as kernels that start
 * before the last one has ended. Pure. */
#ifndef TIMELINE_LANES_H
#define TIMELINE_LANES_H

#include "timeline_busy.h"
#include "timeline_calls.h"
#include "timeline_events.h"
#include "timeline_gauges.h"
#include "timeline_ranges.h"
#include "trace_stream.h"

struct timeline_lane {
	/* of a stream: its device, context and stream; of a device: that and 0; of a gauge: its device and kind; of a
	 * thread: tid and 0; of waits of no known thread: 0 */
	enum timeline_lane_kind {
		TIMELINE_THREAD,
		TIMELINE_WAITS,
		TIMELINE_CALLS,  /* of a collective library, by a thread */
		TIMELINE_RANGES, /* of a thread: they nest, so there is one lane */
		TIMELINE_STREAM,
		TIMELINE_IDLE,  /* of a device */
		TIMELINE_LOAD,  /* of a device: a counter */
		TIMELINE_GAUGE, /* of a device: a counter of what NVML told */
	} kind;
	uint32_t ids[3];
	uint32_t number;  /* among lanes of the same ids, from 0 */
	uint64_t last_ns; /* end of its last event */
};

struct timeline_point { /* the begin or end of an event */
	uint64_t time_ns;
	uint32_t lane, event; /* event: an index of what kind names */
	enum trace_type type;
	enum timeline_point_kind {
		TIMELINE_WORK,
		TIMELINE_LAUNCH,
		TIMELINE_CALL,
		TIMELINE_RANGE,
		TIMELINE_IDLE_TIME,
		TIMELINE_BUSY_TIME,
		TIMELINE_GAUGE_VALUE,
	} kind;
};

struct timeline_part { /* the events of one process */
	uint32_t first_launch, end_launch, first_work, end_work, first_mark, end_mark;
	uint32_t first_call, end_call, first_gauge, end_gauge;
};

struct timeline_lanes {              /* owns both */
	struct timeline_lane *lanes; /* sorted by kind, ids and number */
	struct timeline_point
		*points; /* in order of time; where times are equal, ends come first */
	uint32_t nr_lanes, room_lanes, nr_points;
};

struct timeline_shown { /* borrowed; all but the first three of the part's process */
	const struct timeline_events *events;
	const struct timeline_calls *calls;
	const struct timeline_gauges *gauges;
	const struct timeline_ranges *ranges;
	const struct timeline_busy *busy;
};

/* Takes the part's events. 0 or -ENOMEM. Call timeline_lanes_fini() in any case. */
int timeline_lanes_init(struct timeline_lanes *lanes, const struct timeline_shown *shown,
			const struct timeline_part *part);
void timeline_lanes_fini(struct timeline_lanes *lanes);

#endif
