/* Stretches of time, and arrays of them in order: by start, disjoint and not touching. Pure. */
#ifndef TIMELINE_INTERVAL_H
#define TIMELINE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct timeline_interval {
	uint64_t start_ns, end_ns; /* CUPTI's clock of the process */
};

/* Sorts any array, and returns how many intervals are left; the union is the same. It is quick for sorted runs.
 * scratch: room for count / 2 intervals. */
uint32_t timeline_interval_order(struct timeline_interval *intervals, uint32_t count,
				 struct timeline_interval *scratch);

/* Returns whether the array is sorted and no interval is empty. */
bool timeline_interval_ordered(const struct timeline_interval *intervals, uint32_t count);

/* Returns the first interval of a sorted array that ends after at_ns; count: none. */
uint32_t timeline_interval_after(const struct timeline_interval *intervals, uint32_t count,
				 uint64_t at_ns);

#endif
