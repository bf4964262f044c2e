/* Compares the hosts' clocks with the aggregator's, in a row for each host. Used by one thread. */
#ifndef REPORT_CLOCKS_H
#define REPORT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_log.h"
#include "report/profile/clock_map.h"
#include "report/profile/profile.h"

struct report_clocks_row {
	uint32_t id;       /* the roster's id */
	const char *host;  /* clean text (clean_text.h) */
	uint32_t measured; /* comparisons; 0: there are none, and the members below are 0 */
	/* From the last comparison: */
	uint64_t time_ns;  /* the host's CLOCK_MONOTONIC */
	int64_t offset_ns; /* the host's CLOCK_MONOTONIC - the aggregator's, give or take bound_ns */
	uint64_t bound_ns, round_trip_ns;
	bool has_realtime;
	int64_t realtime_ns; /* the same for CLOCK_REALTIME, give or take bound_ns */
	/* From the first to the last comparison: */
	bool has_drift;
	int64_t drift_ppb; /* how much faster the host's clock went, give or take drift_bound_ppb */
	uint64_t drift_bound_ppb;
	/* Values from the comparison alone. They equal the members above unless report_clocks_refine() was called. */
	int64_t compared_offset_ns;
	uint64_t compared_bound_ns;
	uint32_t collectives; /* collectives that were used for this host's comparisons */
	uint32_t elsewhere;   /* comparisons with other clocks than the map's, which are not used */
};

struct report_clocks {
	struct report_clocks_row *rows; /* by host's name; all of the profile's hosts */
	uint32_t nr_rows;
	struct clock_offset *offsets; /* owns; the profile's, refined */
	uint32_t nr_offsets;
	struct clock_map *map; /* owns */
	/* refined: collectives narrowed the bounds. contradicted: no comparison fits them, so the values are as
	 * compared */
	bool refined, contradicted;
	/* the most that the CLOCK_REALTIME of two hosts may be apart, bounds included */
	uint64_t spread_ns;
	uint32_t nr_unknown; /* hosts whose CLOCK_REALTIME is not known */
};

/* The profile is borrowed until destroy. 0; -ENOMEM: *clocks is NULL. destroy() accepts NULL. */
int report_clocks_create(const struct profile *profile, struct report_clocks **clocks);
/* Narrows the bounds by the profile's collectives (clock_evidence.h). Call it once. 0; -ENOMEM: nothing has changed. */
int report_clocks_refine(struct report_clocks *clocks, const struct profile *profile,
			 const struct collective_log *log);
void report_clocks_destroy(struct report_clocks *clocks);

#endif
