/* How the hosts' clocks stood to the aggregator's, a row a host. Used by one thread. */
#ifndef REPORT_CLOCKS_H
#define REPORT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock_map.h"
#include "profile.h"

struct report_clocks_row {
	const char *host;  /* clean text (frame_text.h) */
	uint32_t measured; /* comparisons; 0: none, and what follows is 0 */
	/* Of the last one: */
	uint64_t time_ns;  /* the host's CLOCK_MONOTONIC */
	int64_t offset_ns; /* the host's CLOCK_MONOTONIC - the aggregator's, give or take bound_ns */
	uint64_t bound_ns, round_trip_ns;
	bool has_realtime;
	int64_t realtime_ns; /* the same of CLOCK_REALTIME, give or take bound_ns */
	/* From the first to the last: */
	bool has_drift;
	int64_t drift_ppb; /* how much faster it went, give or take drift_bound_ppb */
	uint64_t drift_bound_ppb;
	uint32_t elsewhere; /* comparisons with other clocks than the map's, which are not used */
};

struct report_clocks {
	struct report_clocks_row *rows; /* by host's name; all of the profile's hosts */
	uint32_t nr_rows;
	struct clock_map *map; /* owns */
	uint64_t
		spread_ns; /* of CLOCK_REALTIME: no two hosts' are further apart, by what is known, bounds included */
	uint32_t nr_unknown; /* hosts of whose CLOCK_REALTIME nothing is known */
};

/* The profile is borrowed until destroy. 0 or -ENOMEM: *clocks is NULL. destroy() accepts NULL. */
int report_clocks_create(const struct profile *profile, struct report_clocks **clocks);
void report_clocks_destroy(struct report_clocks *clocks);

#endif
