/* Agents that were here before: how much of each the aggregator has, asked once under the old agent's epoch, so that
 * rings which it read are read on from exactly there. Single-threaded: only the agent loop calls it. */
#ifndef PREDECESSOR_H
#define PREDECESSOR_H

#include <stdint.h>
#include <sys/types.h>

#include "node-agent/publish/publisher.h"

/* Epochs that are known at a time, shared by users (fair_shares.h), since an epoch is a process's word. An answer that
 * was given may be asked for again. */
#define PREDECESSORS_MAX 16u

struct predecessor_table;

/* own: the options of our own publisher; texts are copied, the context is borrowed until predecessor_table_destroy()
 * (accepts NULL). NULL: out of memory. */
struct predecessor_table *predecessor_table_create(const struct publisher_options *own);
void predecessor_table_destroy(struct predecessor_table *table);

/* Asks, or looks whether the answer is there, for a process of this user. 0: *durable_seq is the last message of
 * that epoch that the aggregator has, and there will be no more; -EAGAIN: not known yet, or others are asked about
 * first, call again; other -errno: it will not be known. */
int predecessor_table_ask(struct predecessor_table *table,
			  const uint8_t epoch[static WIRE_EPOCH_SIZE], uid_t uid, uint64_t now_ns,
			  uint64_t *durable_seq);

#endif
