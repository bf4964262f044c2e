/* Collects the collective calls that a guest has recorded, and its communicators, until they are sent. Their number is
 * bounded whatever the ring holds. Part of the ring source; single-threaded: only the agent loop calls it. */
#ifndef RING_COLLECTIVES_H
#define RING_COLLECTIVES_H

#include <stdbool.h>

#include "proto/definition.h"

#define RING_COLLECTIVES_MAX 4096u /* calls in one message */

struct message;
struct process_ledger;
struct record_ring;
struct record_ring_snapshot;
struct ring_collectives;
struct stack_resolver;

/* Creates the empty collection. ledger counts what is lost, and is borrowed until destroy. NULL: out of memory.
 * destroy() accepts NULL. */
struct ring_collectives *ring_collectives_create(struct process_ledger *ledger);
void ring_collectives_destroy(struct ring_collectives *collectives);

/* Adds a communicator. A guest defines it again for an agent's successor; it then replaces the earlier one. 0; -EINVAL:
 * no guest writes this; -ENOMEM. */
int ring_collectives_define(struct ring_collectives *collectives,
			    const struct definition_communicator *communicator);

/* Reads calls within the snapshot, as long as there is room. gone: the guest is gone. 0 or -ENOMEM. */
int ring_collectives_read(struct ring_collectives *collectives, struct record_ring *ring,
			  const struct record_ring_snapshot *snapshot, bool gone,
			  struct stack_resolver *stacks);

/* ring_collectives_take() fills in a message with everything that waits, but without its process. After it nothing
 * waits; the message is borrowed until the next define or read. Both return whether anything waits. */
bool ring_collectives_waits(const struct ring_collectives *collectives);
bool ring_collectives_take(struct ring_collectives *collectives, struct message *message);

#endif
