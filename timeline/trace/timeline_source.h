/* Reads an event log with all times on one clock. That is CLOCK_MONOTONIC of the host that the profile's clocks were
 * compared with; where there is but one host, it is that host's. Within a process, times between pieces of GPU work are
 * as CUPTI measured them, to the nanosecond, unless CLOCK_REALTIME was set meanwhile. Blocks of the log that lie
 * outside of the wanted time are not read. Used by one thread. */
#ifndef TIMELINE_SOURCE_H
#define TIMELINE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/clock_map.h"
#include "report/profile/profile.h"
#include "timeline/log/event_reader.h"

#define TIMELINE_SOURCE_NONE UINT32_MAX
/* No host runs for 31 years. Events with later times, or that last longer, are damaged. */
#define TIMELINE_SOURCE_NS_MAX UINT64_C(1000000000000000000)

struct timeline_launch {
	uint64_t time_ns;
	uint32_t process_id, tid, stack_id;
	uint32_t correlation_id; /* of a mark of a step: its number */
	uint16_t window, flags;  /* enum record_launch_flags; RECORD_LAUNCH_MARK: a mark */
	uint32_t flow;           /* number of the flow to its GPU work; 0: that is not here */
	uint8_t mark;            /* enum record_mark */
	uint32_t run;            /* of a mark (mark_runs.h); the source leaves it 0 */
};

struct timeline_work {
	uint64_t start_ns, end_ns, bytes;
	uint32_t process_id, device_id, context_id, stream_id, name_id, correlation_id;
	uint32_t capture_stack_id; /* as in struct gpu_record */
	uint16_t window;
	uint8_t kind, copy_kind;
	uint32_t launch; /* index of its launch; TIMELINE_SOURCE_NONE: that is not here */
	uint32_t flow;   /* number of the flow to the collective's other ranks; 0: none */
};

struct timeline_request {
	uint64_t from_ns, to_ns; /* on the common clock: events with a part in [from_ns, to_ns) */
	bool marks_alone;        /* only blocks with marks are wanted */
	/* only marks of capture windows (RECORD_MARK_WINDOW) are wanted, which no other request gets */
	bool windows_alone;
	/* records that are neither GPU work nor waits count if they begin in [others_ns, to_ns); 0: all do of the
	 * blocks that are read */
	uint64_t others_ns;
	const uint8_t *ranks; /* nonzero: wanted; NULL: all processes */
	uint32_t nr_ranks;
	const uint8_t *processes; /* [id - 1], of all that the profile has: the same; NULL: all */
	uint32_t events_max;      /* for timeline_events_read(); 0: there is no limit */
};

#define TIMELINE_REQUEST_ALL ((struct timeline_request){.to_ns = UINT64_MAX})

struct timeline_counts { /* of what was read */
	struct event_sums log;
	/* events that name what the profile, which is being written, does not know yet; those of others are damaged */
	uint64_t unknown;
	uint64_t unclocked; /* events whose clock, or host's clock, was never compared */
	uint64_t others;    /* records that are neither GPU work nor waits */
};

/* Get single events, in the log's order; nonzero ends the reading. */
struct timeline_sink {
	int (*launch)(void *context, const struct timeline_launch *launch);
	int (*work)(void *context, const struct timeline_work *work);
	void *context;
};

struct timeline_source;

/* The first two and map are borrowed until destroy. map: NULL, or without comparisons, is allowed. NULL: out of memory.
 * destroy() accepts NULL. */
struct timeline_source *timeline_source_create(const char *store_path,
					       const struct profile *profile,
					       const struct clock_map *map);
void timeline_source_destroy(struct timeline_source *source);

/* Makes a further source of the same events, for another thread. NULL: out of memory. */
struct timeline_source *timeline_source_again(const struct timeline_source *source);

const struct profile *timeline_source_profile(const struct timeline_source *source);
/* Borrowed as create() got them. */
const char *timeline_source_store(const struct timeline_source *source);
const struct clock_map *timeline_source_map(const struct timeline_source *source);

/* Returns whether the profile knows the process and the request wants its events. */
bool timeline_source_wants(const struct timeline_source *source,
			   const struct timeline_request *request, uint32_t process_id);

/* Puts a process's CLOCK_MONOTONIC on the common clock. false: nobody knows how, the profile does not know the process,
 * or the request does not want it. */
bool timeline_source_place(struct timeline_source *source, const struct timeline_request *request,
			   uint32_t process_id, uint64_t *time_ns);

/* Puts a time of the CLOCK_REALTIME of a process's host, which is CUPTI's clock, on the common clock. false: nobody
 * knows how, or no event of the process was read last. */
bool timeline_source_place_realtime(struct timeline_source *source, uint32_t process_id,
				    uint64_t *time_ns);

/* Finds the time of all events; both are 0 where there is none. Errors as timeline_source_read(). */
int timeline_source_extent(struct timeline_source *source, uint64_t *first_ns, uint64_t *last_ns);

/* Tells about how many events are in the request's time: those of the blocks that would be read, of all processes.
 * Errors as timeline_source_read(). */
int timeline_source_estimate(struct timeline_source *source, const struct timeline_request *request,
			     uint64_t *nr_events);

/* Returns the number of wanted processes that the profile has GPU records of, and the log has no event of, as far as
 * timeline_source_extent() and readings have seen. It is 0 if older events were dropped, by what was read. */
uint32_t timeline_source_silent(const struct timeline_source *source,
				const struct timeline_request *request,
				const struct timeline_counts *read);

/* 0; -ENOENT: there is no log; -ENOMEM; other -errno; or what the sink returned. *counts is set anew. */
int timeline_source_read(struct timeline_source *source, const struct timeline_request *request,
			 const struct timeline_sink *sink, struct timeline_counts *counts);

#endif
