/* The times before the collectives in which a rank was the last, alone. Part of report_straggler; one thread. */
#ifndef STRAGGLER_WINDOW_H
#define STRAGGLER_WINDOW_H

#include <stdint.h>

struct collective_log;
struct collective_match;

struct straggler_window {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of the process's node */
};

/* How late a member was behind the median of the others where it was last, the mean; in so many collectives. */
uint64_t straggler_window_lateness(const struct collective_match *match, uint32_t late,
				   uint64_t *count);

/* Of a member, before each collective in which the late one was last: from the end of its previous call on the
 * communicator to the start of this one; by kernels where both are known and so is the clock, else by host calls. The
 * caller owns *windows (free()). 0 or -ENOMEM. */
int straggler_window_find(const struct collective_match *match, const struct collective_log *log,
			  uint32_t late, uint32_t member, struct straggler_window **windows,
			  uint32_t *nr_windows);

#endif
