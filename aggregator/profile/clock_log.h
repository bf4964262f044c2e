/* Offsets of hosts' clocks from the aggregator's, as agents measured them: those since the last commit, or all that a
 * store has. Ids are the store's. Part of the collection; single-threaded. */
#ifndef CLOCK_LOG_H
#define CLOCK_LOG_H

#include <stdint.h>

struct clock_log;

struct clock_offset {
	uint32_t host;      /* roster id */
	uint32_t reference; /* string id: the machine to whose CLOCK_MONOTONIC it was compared */
	uint64_t time_ns;   /* the host's CLOCK_MONOTONIC at the comparison */
	int64_t offset_ns; /* the host's CLOCK_MONOTONIC - the reference's */
	uint64_t bound_ns; /* the true offset is within offset_ns +- this */
	uint64_t round_trip_ns;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC; 0: not known */
	int64_t realtime_offset_ns, reference_realtime_offset_ns;
};

/* NULL: out of memory. destroy() accepts NULL. */
struct clock_log *clock_log_create(void);
void clock_log_destroy(struct clock_log *log);

/* 0 or -ENOMEM: unchanged. */
int clock_log_add(struct clock_log *log, const struct clock_offset *offset);

/* In the order in which they came. Borrowed until the next change. */
const struct clock_offset *clock_log_offsets(const struct clock_log *log, uint32_t *count);
void clock_log_saved(struct clock_log *log); /* empties it */

#endif
