/* Cuts windows down to the times of which all ranks that are compared have kept their samples
 * (aggregator/core/kept_window.h). One thread. */
#ifndef STRAGGLER_KEPT_H
#define STRAGGLER_KEPT_H

#include <stdint.h>

#include "aggregator/profile/kept_log.h"

struct collection;
struct profile;
struct straggler_party;

/* Returns the highest level of what is kept of these processes, and of all others of their ranks: only times of that
 * level are kept of all of them. */
uint32_t straggler_kept_level(const struct collection *collection, enum kept_sort sort,
			      const uint32_t *processes, uint32_t count);

/* Of at most 1 + STRAGGLER_OTHERS_MAX parties. Their windows lose the times that one of them has not kept. Their
 * numbers of collectives shrink as their times do, so that sums divided by them stay comparable. 0 or -ENOMEM. */
int straggler_kept_cut(const struct profile *profile, struct straggler_party *parties,
		       uint32_t nr_parties);

#endif
