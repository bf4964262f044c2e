/* Narrows the comparisons of hosts' clocks by the collectives that have raw rows in the profile (clock_refine.h). Used
 * by one thread. */
#ifndef CLOCK_EVIDENCE_H
#define CLOCK_EVIDENCE_H

#include <stdint.h>

#include "clock_map.h"

#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/roster.h"

/* The assumed error of a kernel's times on its host's CLOCK_MONOTONIC. CUPTI interpolates the GPU's clock to the
 * host's, and the guest measures how CUPTI's clock stands to CLOCK_MONOTONIC. Neither tells its error. */
#define CLOCK_EVIDENCE_GPU_NS 5000u

/* offsets[0..count) are the profile's, from which the map was made. They are changed in place where they can be
 * narrowed, and the map with them. used[i] is the number of collectives that offset i was held against; each
 * collective belongs to the comparison that is nearest in time. Calls count only if their kernels are known on two
 * hosts or more. 0; -ERANGE: collectives contradict the comparisons; -ENOMEM. On error nothing is changed. */
int clock_evidence_apply(const struct collective_log *log, const struct roster *roster,
			 const struct clock_map *map, struct clock_offset *offsets, uint32_t count,
			 uint32_t *used);

#endif
