/* Finds the largest gap in the work of each GPU, over all its streams and processes, from work that comes in any order.
 * Pure; used by one thread. */
#ifndef TIMELINE_GAPS_H
#define TIMELINE_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_pauses.h"
#include "timeline_source.h"

#define TIMELINE_GAPS_KEPT                                                                         \
	(1u << 20) /* of one GPU, stretches of work at most: then the smallest gaps are closed */

struct timeline_gap {
	uint64_t start_ns, end_ns;
	uint32_t process_id,
		device_id; /* a process that worked behind it, and its number of the GPU */
};

struct timeline_gaps;

/* The profile is borrowed until destroy. NULL: out of memory. destroy() accepts NULL. */
struct timeline_gaps *timeline_gaps_create(const struct profile *profile);
void timeline_gaps_destroy(struct timeline_gaps *gaps);

/* Waits of the host are ignored. 0 or -ENOMEM. */
int timeline_gaps_add(struct timeline_gaps *gaps, const struct timeline_work *work);

/* Returns whether some GPU has a gap, in which the process behind it was captured all the time. pauses NULL: there are
 * none. With more than TIMELINE_GAPS_KEPT stretches of work at once the largest gap is
 * found unless as many larger ones were closed by work that came later. */
bool timeline_gaps_largest(struct timeline_gaps *gaps, const struct capture_pauses *pauses,
			   struct timeline_gap *largest);

#endif
