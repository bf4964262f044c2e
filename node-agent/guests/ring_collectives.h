/* The calls of a collective library that a guest has recorded, and its communicators, as they wait to be sent. Bounded
 * whatever the ring holds. Part of the ring source; single-threaded: only the agent loop calls it. */
#ifndef RING_COLLECTIVES_H
#define RING_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective_record.h"
#include "proto/definition.h"

#define RING_COLLECTIVES_MAX 4096u /* calls in one message */

struct message;
struct process_ledger;
struct record_ring;
struct record_ring_snapshot;
struct ring_collectives;
struct stack_resolver;

/* ledger: borrowed until destroy; what is lost is counted there. NULL: out of memory. destroy() accepts NULL. */
struct ring_collectives *ring_collectives_create(struct process_ledger *ledger);
void ring_collectives_destroy(struct ring_collectives *collectives);

/* One that is defined again, by an agent's successor, replaces the earlier one. 0; -EINVAL: no guest writes this;
 * -ENOMEM. */
int ring_collectives_define(struct ring_collectives *collectives,
			    const struct definition_communicator *communicator);

/* Reads on within the snapshot, as long as there is room; gone: the guest is. 0 or -ENOMEM. */
int ring_collectives_read(struct ring_collectives *collectives, struct record_ring *ring,
			  const struct record_ring_snapshot *snapshot, bool gone,
			  struct stack_resolver *stacks);

/* What waits, as a message but for its process: borrowed until the next define or read, when nothing waits any more.
 * false: nothing does. */
bool ring_collectives_waits(const struct ring_collectives *collectives);
bool ring_collectives_take(struct ring_collectives *collectives, struct message *message);

#endif
