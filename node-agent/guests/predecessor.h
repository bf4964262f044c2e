/* Asks the aggregator how much it has of agents that ran here before. It asks once for each agent, under that agent's
 * epoch, so that we continue its rings from exactly there. Single-threaded: only the agent loop calls it. */
#ifndef PREDECESSOR_H
#define PREDECESSOR_H

#include <stdint.h>
#include <sys/types.h>

#include "node-agent/publish/publisher.h"

/* Limit of epochs that are known at a time. Users share it (fair_shares.h), since an epoch is a process's word. A
 * dropped answer can be asked for again. */
#define PREDECESSORS_MAX 16u

struct predecessor_table;

/* Creates the table. own: the options of our own publisher. Texts are copied; the context is borrowed until
 * predecessor_table_destroy() (accepts NULL). NULL: out of memory. */
struct predecessor_table *predecessor_table_create(const struct publisher_options *own);
void predecessor_table_destroy(struct predecessor_table *table);

/* Asks about an epoch for a process of this user, or looks for the answer to an earlier call.
 *   - 0: *durable_seq is the last message of that epoch that the aggregator has, and it will accept no more.
 *   - -EAGAIN: not known yet, or others are asked about first; call again.
 *   - other -errno: it will not be known. */
int predecessor_table_ask(struct predecessor_table *table,
			  const uint8_t epoch[static WIRE_EPOCH_SIZE], uid_t uid, uint64_t now_ns,
			  uint64_t *durable_seq);

#endif
