/* Times of several hosts on one clock, with how far off each may be: from the comparisons of clocks in a profile
 * (clock_log.h). Pure; read by any thread. */
#ifndef CLOCK_MAP_H
#define CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/clock_log.h"

#define CLOCK_MAP_DRIFT_PPM                                                                        \
	15u /* RFC 5905, PHI: by how much a clock may stray from what was measured, of the time since */

struct clock_map;

/* The offsets are borrowed until destroy; sorted by host, reference and time, as store_clocks_read() leaves them. Where
 * they are of several references (the aggregator moved to another host, or its host was booted anew), the map is of
 * that with most of them. NULL: out of memory. destroy() accepts NULL. */
struct clock_map *clock_map_create(const struct clock_offset *offsets, uint32_t count);
void clock_map_destroy(struct clock_map *map);

uint32_t clock_map_reference(const struct clock_map *map); /* a string id; 0: there is no offset */

/* A host's, of the map's reference, by time. NULL, *count 0: none. Borrowed as the map's. */
const struct clock_offset *clock_map_host(const struct clock_map *map, uint32_t host,
					  uint32_t *count);

/* How a host's clock stood at a time of its CLOCK_MONOTONIC: between two comparisons as if it had gone evenly, outside
 * of them as in the nearest. bound_ns: of the worse of the two, and CLOCK_MAP_DRIFT_PPM of the time to the nearer.
 * false: not known. */
struct clock_map_place {
	int64_t offset_ns;   /* the host's CLOCK_MONOTONIC - the reference's */
	int64_t realtime_ns; /* likewise of CLOCK_REALTIME; 0 where either is not known */
	int64_t reference_realtime_offset_ns; /* the reference's CLOCK_REALTIME - its CLOCK_MONOTONIC; 0: not known */
	uint64_t bound_ns;
};
bool clock_map_find(const struct clock_map *map, uint32_t host, uint64_t time_ns,
		    struct clock_map_place *place);

/* By how much a clock may stray in so long from what was measured, unnoticed: CLOCK_MAP_DRIFT_PPM of it. */
uint64_t clock_map_stray(uint64_t passed_ns);

/* How much faster than the reference's a clock went from the first comparison to the last, in parts per billion, give
 * or take *bound_ppb. false: they are not a second apart. */
bool clock_map_drift(const struct clock_map *map, uint32_t host, int64_t *drift_ppb,
		     uint64_t *bound_ppb);

#endif
