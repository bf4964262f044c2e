/* Cuts windows down to the times of which all ranks that are compared have kept their samples
 * (aggregator/core/kept_window.h). Part of straggler_explain; one thread. */
#ifndef STRAGGLER_KEPT_H
#define STRAGGLER_KEPT_H

#include <stdint.h>

struct profile;
struct straggler_party;

/* The parties' windows lose the times that one of them has not kept. Their numbers of collectives shrink as their
 * times do, so that sums divided by them stay comparable. 0 or -ENOMEM. */
int straggler_kept_cut(const struct profile *profile, struct straggler_party *parties,
		       uint32_t nr_parties);

#endif
