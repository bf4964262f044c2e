/* Sums the ledgers of a profile's processes and agents, and the aggregator's own counts. Both may have counted the same
 * failure or unclean end. Pure. */
#ifndef PROFILE_LEDGER_H
#define PROFILE_LEDGER_H

#include <stdint.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

/* Indexed by enum ledger_reason. All sums saturate. */
struct profile_ledger {
	uint64_t count[LEDGER_REASONS], ns[LEDGER_REASONS];
};

/* unmatched: GPU records without a launch. */
void profile_ledger_sum(const struct collection *collection, uint64_t unmatched,
			struct profile_ledger *sums);

/* Returns a process's count of one reason (enum ledger_reason), of all its devices. */
uint64_t profile_ledger_of(const struct roster_process *process, uint32_t reason);

#endif
