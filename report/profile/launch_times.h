/* When the launches of totals ran, and what they took at the start and at the end. Sums in any order. Pure. */
#ifndef LAUNCH_TIMES_H
#define LAUNCH_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct fold_row;
struct profile;

/* Early launches are those of the first quarter of a total's slices (fold_times.h), late ones those of the last
 * quarter. A total with less than four slices, or without one of both, has none. */
struct launch_times {
	bool has_some, is_known; /* is_known: of all that were added */
	/* when the first and the last one began: CLOCK_MONOTONIC of the profile's reference host (clock_map.h) */
	uint64_t first_ns, last_ns;
	uint64_t early_count, early_ns, late_count, late_ns;
	/* what the late launches took if each total's took as long as its early ones: its own mean, rounded down */
	uint64_t late_as_early_ns;
};

/* Those of a row of the profile's totals. A host whose clock was not compared counts as the reference. */
void launch_times_of(const struct profile *profile, const struct fold_row *row,
		     struct launch_times *times);

/* Adds others; where some are not known, the sum is not. */
void launch_times_add(struct launch_times *times, const struct launch_times *others);

#endif
