/* What metrics tell of the aggregator itself. Plain data. */
#ifndef AGGREGATOR_COUNTS_H
#define AGGREGATOR_COUNTS_H

#include <stdint.h>

struct metrics_text;

struct aggregator_counts {
	uint64_t agents_connected, agents_silent; /* as in aggregator_status */
	uint64_t links;    /* of nodes that fold their own events, in open profiles */
	uint64_t profiles; /* that are open: its own, and one for each job */
	uint64_t commits;
	uint64_t frames, bytes; /* that came */
	uint64_t bad_frames, refused, strangers, crowded;
	uint64_t dropped;       /* frames for which there was no room */
	uint64_t waiting_bytes; /* of frames that wait for their profiles */
	uint64_t oldest_ns; /* CLOCK_MONOTONIC at which the oldest of them came; 0: none waits */
};

/* Writes the families of flamegrid_aggregator_. */
void aggregator_counts_write(const struct aggregator_counts *counts, uint64_t now_ns,
			     struct metrics_text *text);

#endif
