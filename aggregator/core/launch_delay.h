/* The time from the entry of a launch call to the start of its kernel, for one process and by device. It includes
 * earlier work in the queue. Both times must be of one clock. Sums stick at INT64_MAX. Pure; one thread. */
#ifndef LAUNCH_DELAY_H
#define LAUNCH_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

struct launch_delay {
	uint64_t count, sum_ns, max_ns;
	/* kernels that began before their launch, or years later: the clocks are wrong */
	uint64_t unclear;
	bool changed; /* since launch_delays_saved() */
};

struct launch_delays {           /* zeroed: none */
	struct launch_delay *at; /* owns; by CUDA ordinal; the highest stands for all above */
	uint32_t nr;
};

void launch_delays_fini(struct launch_delays *delays);

/* Finds the device's delays, and makes them if it has none. 0; -ENOMEM: unchanged. Borrowed until the next call of this
 * function or of launch_delays_add(). */
int launch_delays_get(struct launch_delays *delays, uint32_t device_id,
		      struct launch_delay **delay);

/* NULL or zeroes: the device has none. Borrowed as by launch_delays_get(). */
const struct launch_delay *launch_delays_find(const struct launch_delays *delays,
					      uint32_t device_id);

/* 0; -ENOMEM: unchanged. */
int launch_delays_add(struct launch_delays *delays, uint32_t device_id, uint64_t launch_ns,
		      uint64_t start_ns);
void launch_delays_saved(struct launch_delays *delays);

#endif
