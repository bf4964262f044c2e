/* How hosts' clocks stand to one another by what their GPUs did together: no rank's kernel of a collective ends before
 * those of all ranks have begun. So a collective is an exchange of messages between all of its hosts, and narrows what
 * the comparisons of clocks (clock_log.h) left open, without anything said of how evenly it ends.
 *
 * Of each host it is known that its clock is ahead of the reference's by something from low to high. By the reference's
 * clock, the last one of a collective began no earlier than the latest (start - high), and the first one ended no later
 * than the earliest (end - low). Then on each host end - ahead is at least the former, which bounds high; and start -
 * ahead at most the latter, which bounds low. Again until nothing moves. What fewer than CLOCK_REFINE_CONFIRMED
 * collectives say is not believed: so many less one may have wrong times. Pure; any thread. */
#ifndef CLOCK_REFINE_H
#define CLOCK_REFINE_H

#include <stdint.h>

#define CLOCK_REFINE_CONFIRMED 3u
#define CLOCK_REFINE_NS_MAX    (INT64_MAX / 8) /* 36 years: sums of a few still fit */

/* By how much a host's clock is ahead of the reference's, at about some time. */
struct clock_refine_bounds {
	int64_t low_ns, high_ns;
	uint32_t nr_used; /* collectives with a part in it */
};

/* A host's part in a collective, by its clock: of its ranks the latest start and the earliest end. */
struct clock_refine_part {
	uint64_t start_ns, end_ns;
	/* by how much these may be wrong, drift since the bounds' time included */
	uint64_t slack_ns;
	uint32_t collective; /* those of one are together, one of each bounds at most */
	uint32_t bounds;     /* index: the host, and about when */
};

/* Narrows bounds[0..nr_bounds), never widens one. 0; -EINVAL: a number above CLOCK_REFINE_NS_MAX, an index that there
 * is not, or what ends before it begins; -ERANGE: they contradict what is known; -ENOMEM. On error the bounds are as
 * they were, but for nr_used. */
int clock_refine(const struct clock_refine_part *parts, uint32_t nr_parts,
		 struct clock_refine_bounds *bounds, uint32_t nr_bounds);

#endif
