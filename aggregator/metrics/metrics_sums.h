/* The sums that metrics tell of profiles. Pure; one thread at a time uses one. */
#ifndef METRICS_SUMS_H
#define METRICS_SUMS_H

#include <stdint.h>

#include "device_totals.h"

#include "proto/ledger.h"

struct collection;
struct idle_reasons;
struct store_waits;

/* Sums of profiles. Zeroed: none. */
struct metrics_sums {
	struct device_totals devices;
	uint64_t launches;             /* that came, without those that failed */
	uint64_t lost[LEDGER_REASONS]; /* of reasons of the class LEDGER_LOST; 0 for the others */
};

void metrics_sums_fini(struct metrics_sums *sums);

/* 0 or -ENOMEM: sums lack some of it. */
int metrics_sums_add(struct metrics_sums *sums, const struct metrics_sums *more);

/* Counts records that are lost for a reason; those of other classes, and reasons that are unknown, do not count. */
void metrics_sums_lose(struct metrics_sums *sums, uint32_t reason, uint64_t count);

/* Takes the sums of a profile. idle may be NULL. 0; -ENOMEM: *sums are zeroed. */
int metrics_sums_take(struct metrics_sums *sums, const struct collection *collection,
		      const struct store_waits *waits, const struct idle_reasons *idle);

/* Raises counts of launches and losses to those of former: what processes say may fall, and metrics never do. */
void metrics_sums_raise(struct metrics_sums *sums, const struct metrics_sums *former);

#endif
