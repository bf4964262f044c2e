/* Says when the next exact window of a GPU may open: samples keep to a rate, and windows to a share of time, in which
 * kernels run one by one. Pure; one thread at a time. */
#ifndef EXACT_PACE_H
#define EXACT_PACE_H

#include <stdint.h>

#define EXACT_PACE_WINDOW_NS 10000000u /* what a window lasts, and the launch that ends in it */
#define EXACT_PACE_SHARE     200u      /* of all time, windows have one part in so many: 0.5 % */

struct exact_pace {
	uint32_t rate; /* samples a second, above 0 */
	uint64_t begin_ns;
	uint64_t samples, spent_ns; /* of all windows so far */
};

void exact_pace_begin(struct exact_pace *pace, uint32_t rate, uint64_t now_ns);

/* Takes the account of a window. */
void exact_pace_add(struct exact_pace *pace, uint64_t samples, uint64_t ns);

/* Returns the time from which on a window may open. */
uint64_t exact_pace_next(const struct exact_pace *pace);

/* Returns how often a second the GPU should look at its warps within windows: for higher rates more often, because
 * windows have no more time. */
uint32_t exact_pace_looks(uint32_t rate);

#endif
