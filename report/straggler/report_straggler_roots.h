/* Finds for how long ranks waited for the root of broadcasts and scatters. Their data comes from the root, so a rank
 * that is there before the root waits for it, and the root waits for nobody. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_ROOTS_H
#define REPORT_STRAGGLER_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "report_straggler_result.h"

/* Whether all ranks wait for the root in a function (enum collective_function). In reduce and gather the root waits,
 * and times do not show for which rank. */
bool report_straggler_roots_has(uint32_t function);

/* Adds what a sum of such a function says of its rank. */
void report_straggler_roots_add(struct report_straggler_rooted *rooted,
				const struct collective_sum *sum);

/* waited_ns: of each rank of the report, how much longer a member was in these calls than the one that was there for
 * the shortest time; other ranks are left alone. A root waits for nobody, so it is among those that waited least.
 * Several may be, because whoever comes after the root does not wait either. False: there are no such calls, or the
 * members do not have as many. */
bool report_straggler_roots_find(const struct report_straggler_communicator *of,
				 uint64_t *waited_ns);

#endif
