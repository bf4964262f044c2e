/* Narrows the bounds of hosts' clocks by the work that their GPUs did together: no rank's kernel of a collective
 * ends before the kernels of all ranks have begun. So a collective is an exchange of messages between all of its
 * hosts. It narrows the bounds that the comparisons of clocks (clock_log.h) left, whether or not all kernels end at
 * once.
 *
 * For each host it is known that its clock is ahead of the reference's by an amount from low to high. On the
 * reference's clock, the last kernel of a collective began no earlier than the latest (start - high), and the first
 * one ended no later than the earliest (end - low). Then on each host (end - ahead) is at least the former, which
 * bounds high, and (start - ahead) is at most the latter, which bounds low. This is repeated until no bound moves. A
 * bound counts only if CLOCK_REFINE_CONFIRMED collectives confirm it, so that one collective less than that may have
 * wrong times. Pure; any thread. */
#ifndef CLOCK_REFINE_H
#define CLOCK_REFINE_H

#include <stdint.h>

#define CLOCK_REFINE_CONFIRMED 3u
#define CLOCK_REFINE_NS_MAX    (INT64_MAX / 8) /* 36 years; sums of a few such times still fit */

/* The amount by which a host's clock is ahead of the reference's at about one time. */
struct clock_refine_bounds {
	int64_t low_ns, high_ns;
	uint32_t nr_used; /* collectives that have a part with these bounds */
};

/* A host's part in a collective, by its clock: the latest start and the earliest end of its ranks. */
struct clock_refine_part {
	uint64_t start_ns, end_ns;
	/* the possible error of both, which includes the drift since the time of the bounds */
	uint64_t slack_ns;
	uint32_t collective; /* parts of one collective follow one another; each has other bounds */
	uint32_t bounds;     /* index of the bounds of this host at about this time */
};

/* Narrows bounds[0..nr_bounds), and never widens one. 0; -EINVAL: a number is above CLOCK_REFINE_NS_MAX, an index is
 * out of range, or an end lies before its start; -ERANGE: the parts contradict the bounds; -ENOMEM. On error all
 * bounds but nr_used are as they were. */
int clock_refine(const struct clock_refine_part *parts, uint32_t nr_parts,
		 struct clock_refine_bounds *bounds, uint32_t nr_bounds);

#endif
