/* Finds the times before those collectives in which one rank alone was the last. Part of report_straggler; one
 * thread. */
#ifndef STRAGGLER_WINDOW_H
#define STRAGGLER_WINDOW_H

#include <stdint.h>

#include "aggregator/profile/collective_match.h"

/* The calls of a communicator whose raw rows are kept, where all ranks have one (collective_match_compare()). */
struct straggler_calls {
	struct collective_match match;
	uint64_t *times_ns;
};

struct straggler_window {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of the process's node */
};

/* Returns the mean time that a member was behind the median of the others in the collectives in which it was last.
 * *count is the number of these collectives. */
uint64_t straggler_window_lateness(const struct straggler_calls *raw, uint32_t late,
				   uint64_t *count);

/* Finds a member's windows, one before each collective in which the late member was last. A window lasts from the
 * end of the member's previous call on the communicator to the start of this one. Kernels give these times where
 * both kernels and the clock are known; otherwise host calls do. Collectives whose previous call has no raw row have
 * none. The caller owns *windows: free(). 0 or -ENOMEM. */
int straggler_window_find(const struct straggler_calls *raw, const struct collective_log *log,
			  uint32_t late, uint32_t member, struct straggler_window **windows,
			  uint32_t *nr_windows);

#endif
