/* What became of the sampling of one GPU's counters (counter_sampling.h), over all lives of agents. Pure; any
 * thread. */
#ifndef GPU_COUNTERS_H
#define GPU_COUNTERS_H

#include "aggregator/profile/placement_log.h"
#include "proto/counter_sampling.h"

/* Sums up the states of the store's device; refusal and interval are those of the newest one. Without states all is
 * zero. */
void gpu_counters_of(const struct placement_log *log, uint32_t device, struct counter_state *sums);

/* Returns the time of which samples were wanted, and none came; 0: below a second, or below 5 % of the time wanted. */
uint64_t gpu_counters_missing_ns(const struct counter_state *sums);

/* Returns a word for programs ("no_right"); those for people are counter_refusal.h's. Static storage. A refusal of a
 * newer agent is "unknown". */
const char *gpu_counters_refusal_name(uint32_t refusal);

#endif
