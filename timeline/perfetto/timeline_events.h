/* The events of a log (timeline/log) within a time and of some ranks, with all times on one clock. That is
 * CLOCK_MONOTONIC of the host that the profile's clocks were compared with; where there is but one host, it is that
 * host's. Within a process, times between pieces of GPU work are as CUPTI measured them, to the nanosecond, unless
 * CLOCK_REALTIME was set meanwhile. Used by one thread. */
#ifndef TIMELINE_EVENTS_H
#define TIMELINE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"
#include "report/profile/clock_map.h"
#include "report/profile/profile.h"
#include "timeline/log/event_reader.h"

#define TIMELINE_EVENTS_NONE UINT32_MAX

struct timeline_launch {
	uint64_t time_ns;
	uint32_t process_id, tid, stack_id, correlation_id;
	uint16_t window, flags;
	uint32_t flow; /* number of the flow to its GPU work; 0: that is not here */
};

struct timeline_work {
	uint64_t start_ns, end_ns, bytes;
	uint32_t process_id, device_id, context_id, stream_id, name_id, correlation_id;
	uint16_t window;
	uint8_t kind, copy_kind;
	uint32_t launch; /* index of its launch; TIMELINE_EVENTS_NONE: that is not here */
};

struct timeline_range {
	uint64_t from_ns, to_ns; /* from the first event of the log on; to_ns 0: to the end */
	const uint8_t *ranks;    /* nonzero: wanted; NULL: all processes */
	uint32_t nr_ranks;
};

struct timeline_events {
	/* Sorted by process, then by time. GPU work is there as a whole if a part of it is within the range. */
	struct timeline_launch *launches;
	struct timeline_work *work;
	uint32_t nr_launches, room_launches, nr_work, room_work;
	uint64_t first_ns, last_ns;  /* of all events in the log */
	uint32_t nr_flows, nr_ranks; /* nr_ranks: processes with events here */
	struct event_sums sums;
	uint64_t unknown;   /* events of processes that the profile does not know */
	uint64_t unclocked; /* events whose clock, or host's clock, was never compared */
	uint64_t others;    /* records that are neither GPU work nor waits */
};

/* Reads the log beside the store. map may be NULL or without comparisons. 0; -ENOENT: there is no log; -ENOMEM; other
 * -errno. Call timeline_events_fini() in any case. */
int timeline_events_read(const char *store_path, const struct profile *profile,
			 const struct clock_map *map, const struct timeline_range *range,
			 struct timeline_events *events);
void timeline_events_fini(struct timeline_events *events);

#endif
