/* How long kernels took to begin after they were asked for, of one process by device: from the launch call's entry to the
 * kernel's start, so with all that was queued before it. Both times must be by one clock. Sums stick at INT64_MAX. Pure; one
 * thread. */
#ifndef LAUNCH_DELAY_H
#define LAUNCH_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

struct launch_delay {
	uint64_t count, sum_ns, max_ns;
	uint64_t
		unclear; /* began before they were asked for, or years later: the clocks are wrong */
	bool changed;    /* since launch_delays_saved() */
};

/* Zeroed memory has none. */
struct launch_delays {
	struct launch_delay at[RECORD_DEVICES_MAX]; /* by CUDA ordinal; the last: and all above */
};

struct launch_delay *launch_delays_of(struct launch_delays *delays, uint32_t device_id);
void launch_delays_add(struct launch_delays *delays, uint32_t device_id, uint64_t launch_ns,
		       uint64_t start_ns);
void launch_delays_saved(struct launch_delays *delays);

#endif
