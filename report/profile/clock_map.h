/* Puts the times of several hosts on one clock, with a bound on the error of each. The comparisons of clocks in a
 * profile (clock_log.h) are its source. Pure; any thread may read it. */
#ifndef CLOCK_MAP_H
#define CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/clock_log.h"

#define CLOCK_MAP_DRIFT_PPM 15u /* drift of a clock since its comparison (RFC 5905, PHI) */

struct clock_map;

/* The offsets are borrowed until destroy. They are sorted by host, reference and time, as store_clocks_read() leaves
 * them. Several references appear if the aggregator moved to another host or its host was booted anew; the map then
 * uses the reference with the most offsets. NULL: out of memory. destroy() accepts NULL. */
struct clock_map *clock_map_create(const struct clock_offset *offsets, uint32_t count);
void clock_map_destroy(struct clock_map *map);

uint32_t clock_map_reference(const struct clock_map *map); /* a string id; 0: there is no offset */

/* Returns a host's offsets from the map's reference, in order of time. NULL and *count 0: there are none. They are
 * borrowed as long as those of the map. */
const struct clock_offset *clock_map_host(const struct clock_map *map, uint32_t host,
					  uint32_t *count);

/* The state of a host's clock at a time of its CLOCK_MONOTONIC. Between two comparisons the clock is assumed to go
 * evenly; outside of them the nearest comparison counts. bound_ns is that of the worse of the two plus
 * CLOCK_MAP_DRIFT_PPM of the time to the nearer. false: not known. */
struct clock_map_place {
	int64_t offset_ns;   /* the host's CLOCK_MONOTONIC - the reference's */
	int64_t realtime_ns; /* the same for CLOCK_REALTIME; 0: not known for one of the two */
	int64_t reference_realtime_offset_ns; /* the reference's CLOCK_REALTIME - its CLOCK_MONOTONIC; 0: not known */
	uint64_t bound_ns;
};
bool clock_map_find(const struct clock_map *map, uint32_t host, uint64_t time_ns,
		    struct clock_map_place *place);

/* The time from one comparison of a host's clock to the next, for readers that place many times one after the other. */
struct clock_map_stretch {
	const struct clock_offset *before, *after; /* borrowed; one is NULL at the ends */
	uint64_t from_ns, to_ns;                   /* it has the times in [from_ns, to_ns) */
};

/* Finds the stretch that has a time of a host's CLOCK_MONOTONIC, and the clock's state at a time in it. Together they
 * are clock_map_find(). false: not known, and the stretch has no time. */
bool clock_map_stretch_find(const struct clock_map *map, uint32_t host, uint64_t time_ns,
			    struct clock_map_stretch *stretch);
void clock_map_stretch_place(const struct clock_map_stretch *stretch, uint64_t time_ns,
			     struct clock_map_place *place);

/* The place's offset_ns alone. */
int64_t clock_map_stretch_offset(const struct clock_map_stretch *stretch, uint64_t time_ns);

static inline bool clock_map_stretch_has(const struct clock_map_stretch *stretch, uint64_t time_ns)
{
	return time_ns >= stretch->from_ns && time_ns < stretch->to_ns;
}

/* Returns the amount by which a clock may stray from its comparison in that time: CLOCK_MAP_DRIFT_PPM of it. */
uint64_t clock_map_stray(uint64_t passed_ns);

/* Computes by how much a host's clock was faster than the reference's, from the first comparison to the last.
 * *drift_ppb is in parts per billion, with an error of at most *bound_ppb. false: the comparisons are not a second
 * apart. */
bool clock_map_drift(const struct clock_map *map, uint32_t host, int64_t *drift_ppb,
		     uint64_t *bound_ppb);

#endif
