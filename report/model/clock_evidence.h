/* What a profile's collectives say of its hosts' clocks: the comparisons of clocks, narrowed by them (clock_refine.h).
 * Used by one thread. */
#ifndef CLOCK_EVIDENCE_H
#define CLOCK_EVIDENCE_H

#include <stdint.h>

#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/roster.h"
#include "report/profile/clock_map.h"

/* By how much a kernel's times may be wrong by its host's CLOCK_MONOTONIC: CUPTI interpolates the GPU's clock to the
 * host's, and the guest measures how that one stands to CLOCK_MONOTONIC. Neither says how far it is off; assumed. */
#define CLOCK_EVIDENCE_GPU_NS 5000u

/* offsets[0..count): the profile's, of which the map is; they are changed in place where they can be narrowed, and the
 * map with them. used[i]: collectives that the i-th was held against; each belongs to the comparison that is nearest in
 * time. Only calls count whose kernels are known on two hosts or more. 0; -ERANGE: collectives contradict the
 * comparisons; -ENOMEM. On error nothing is changed. */
int clock_evidence_apply(const struct collective_log *log, const struct roster *roster,
			 const struct clock_map *map, struct clock_offset *offsets, uint32_t count,
			 uint32_t *used);

#endif
