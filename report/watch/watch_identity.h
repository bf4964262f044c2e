/* Says which ranks or which link a look has found, so that successive looks tell whether they found the same. Names are
 * for readers: two ranks can have the same one. Pure; any thread. */
#ifndef WATCH_IDENTITY_H
#define WATCH_IDENTITY_H

#include <stdint.h>

#include "report/straggler/report_straggler_result.h"

/* Of ranks: of their job and number, so that a rank that starts again stays the same; of a process without a number its
 * host and pid. The order of members is of no account, nor what they have in common. */
uint64_t watch_identity_ranks(const struct report_straggler *straggler,
			      const struct report_straggler_communicator *on,
			      const uint32_t *members, uint32_t nr_members);

/* Of a link. It equals none of ranks. */
uint64_t watch_identity_link(uint64_t key);

#endif
