/* How two hosts' clocks stand to each other, by what both did together: a collective call ends on all its ranks at nearly the same time. Pure;
 * any thread. */
#ifndef CLOCK_REFINE_H
#define CLOCK_REFINE_H

#include <stdint.h>

#define CLOCK_REFINE_PAIRS_MIN 16u
#define CLOCK_REFINE_PAIRS_MAX 65536u

/* Ends of the same call (communicator, sequence) on two hosts, each by its own clock, ns. */
struct clock_refine_pair {
	uint64_t first_ns, second_ns;
};

struct clock_refine_result {
	int64_t offset_ns; /* the first's clock - the second's */
	uint64_t
		bound_ns; /* the truth is within offset_ns +- this, if half of the calls ended as evenly as was said */
	uint32_t nr_used; /* pairs in the interval */
};

/* The middle of the shortest interval that holds more than half of the differences: calls that one host noticed late, however late and
 * however many below half, move it no further than within that. known: what is known of the offset already; what the pairs say is cut to it.
 * end_spread_ns: how far apart the ends of one call are at most, by what the calls are (for host times of blocking calls far more than for ends of
 * GPU kernels). 0; -EINVAL: fewer pairs than CLOCK_REFINE_PAIRS_MIN, or more than CLOCK_REFINE_PAIRS_MAX; -ERANGE: they contradict what is known,
 * *result is then that; -ENOMEM. */
int clock_refine(const struct clock_refine_pair *pairs, uint32_t count, uint64_t end_spread_ns,
		 const struct clock_refine_result *known, struct clock_refine_result *result);

#endif
