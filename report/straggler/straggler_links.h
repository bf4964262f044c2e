/* Finds communicators that move data more slowly than similar ones: a slow link of theirs, and no late rank.
 * Similar are communicators with as many ranks on as many hosts, in the same collective with calls of a similar
 * size. What a call moves is what is left of its kernels without the waits (collective_split.h). Pure; any thread.
 *   - Calls below STRAGGLER_LINKS_BYTES are left out, because latency decides there. So are functions of a
 *     communicator of which a call has no kernel, or was not compared by the kernels of all ranks.
 *   - At least four communicators are compared, as outlier.h says, and a slow one takes at least a tenth longer
 *     than the median. So a link that all communicators share does not show. */
#ifndef STRAGGLER_LINKS_H
#define STRAGGLER_LINKS_H

#include <stdint.h>

#include "aggregator/profile/collective_folds.h"

#define STRAGGLER_LINKS_BYTES (1u << 20)
#define STRAGGLER_LINKS_CALLS 10u /* of each rank, at least */

struct straggler_link {
	const struct collective_fold *fold; /* borrowed from the folds */
	uint32_t function;                  /* enum collective_function */
	uint32_t size_class;                /* collective_sum_key */
	uint32_t nr_similar;                /* communicators beside this one */
	/* of all ranks together: calls, the time in which their kernels moved data, and the bytes as bus bandwidth
	 * counts them */
	uint64_t calls, moves_ns, bus_bytes;
	uint64_t usual_ns; /* what moves_ns would be with the median of the similar ones */
};

/* *links are those that cost most first; the caller owns them. 0 or -ENOMEM. */
int straggler_links_find(const struct collective_folds *folds, struct straggler_link **links,
			 uint32_t *count);

#endif
