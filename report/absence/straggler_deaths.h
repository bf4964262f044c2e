/* Puts ranks that died while they waited to the absent ones, because the others wait for them as well. A rank died so
 * if:
 *   - its process ended by itself, without a goodbye, as a process that is killed does: one that only saw an error of
 *     its communicator says goodbye;
 *   - all absent ranks ended by themselves, less than STRAGGLER_DEATHS_NS before or after it;
 *   - it had waited for less than STRAGGLER_ABSENCE_NS, because after that libraries end a wait themselves;
 *   - another rank that waits lived on.
 * Pure; one thread. */
#ifndef STRAGGLER_DEATHS_H
#define STRAGGLER_DEATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_absence.h"

#include "report/profile/clock_map.h"

#define STRAGGLER_DEATHS_NS 2000000000ull /* what ends all ranks does so within this time */

/* Looks at all absences of a job, and sets has_fallen. Where none is left that waits, nr_waiting is 0. clocks: of the
 * hosts; NULL: not known, and then each wait is short. 0 or -ENOMEM. */
int straggler_deaths_find(struct straggler_absence *list, uint32_t count,
			  const struct roster *roster, const struct clock_map *clocks);

/* Returns the time at which the last of the absent ranks ended: by itself, or by a signal; 0: one has not ended so. */
uint64_t straggler_deaths_time(const struct straggler_absence *absence, const struct roster *roster,
			       bool by_signal);

/* Returns the aggregator's CLOCK_REALTIME at a time of a host's CLOCK_MONOTONIC; 0: not known. */
uint64_t straggler_deaths_realtime(const struct clock_map *clocks, uint32_t host, uint64_t time_ns);

#endif
