/* Tracks which agent owns a ring, and which message carries which of its records. It is the agent's half of the rule in
 * proto/ring/record_ring.h ("from one agent to the next"). Every record is in one message that arrives, or is counted
 * as lost, whichever agent dies at whatever time.
 *
 * An agent takes a ring once. For each message with records of the ring it then does these steps: it reads, calls
 * ring_ownership_announce(), gives the message to the send window, and calls ring_ownership_sent(). When the aggregator
 * has the message, it calls ring_ownership_acknowledged().
 *
 * A stalled agent may wake in the middle of this, when its successor has already taken the ring. Each of these calls
 * then leaves the ring alone. The message in progress will be refused, since its epoch is over.
 *
 * Pure: it reads and writes the ring, and uses no clock and no socket. Single-threaded. */
#ifndef RING_OWNERSHIP_H
#define RING_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "release_queue.h"

#include "proto/ring/record_ring.h"

/* The action of an agent to which a ring is offered. */
enum ring_claim {
	RING_CLAIM_TAKE, /* the ring has no owner: take it */
	RING_CLAIM_ASK,  /* another agent owns it: ask how far that agent came, and take it */
	RING_CLAIM_DROP, /* it is ours already: it is being read, or was read to its end */
};

struct ring_ownership {
	struct record_ring *ring; /* borrowed */
	uint8_t epoch[RECORD_RING_EPOCH];
	struct release_queue releases; /* owns */
	bool taken;
};

/* Initializes the ownership with our own epoch. It touches nothing in the ring, which is borrowed until
 * ring_ownership_fini() (accepts zeroed memory). */
void ring_ownership_init(struct ring_ownership *ownership, struct record_ring *ring,
			 const uint8_t epoch[static RECORD_RING_EPOCH]);
void ring_ownership_fini(struct ring_ownership *ownership);

/* Says what to do with a ring that is offered; call it before anything else. *before is the owner to ask about, zeros
 * if there is none. */
enum ring_claim ring_ownership_claim(const struct record_ring *ring,
				     const uint8_t epoch[static RECORD_RING_EPOCH],
				     uint8_t before[static RECORD_RING_EPOCH]);

/* Takes the ring, before the first pass, and continues from its released position. */
void ring_ownership_take(struct ring_ownership *ownership);

/* Takes the ring, before the first pass, and continues from the end of the last owner's message durable_seq. */
void ring_ownership_take_after(struct ring_ownership *ownership, uint64_t durable_seq);

/* Takes the ring, before the first pass, and skips everything in it so far. */
void ring_ownership_take_anew(struct ring_ownership *ownership);

/* Returns whether we have taken the ring, and no other agent has taken it since. */
bool ring_ownership_holds(const struct ring_ownership *ownership);

/* Notes in the ring that the message seq, about to be made, carries the newest records read. The note comes first
 * because making the message may be the last act of this agent. 0; -EBUSY: ask ring_ownership_can_announce() before
 * reading. */
int ring_ownership_announce(struct ring_ownership *ownership, uint64_t seq);
bool ring_ownership_can_announce(const struct ring_ownership *ownership);

/* Notes that everything read so far is in the send window, up to message seq. Crowded lanes get their room back at
 * once, the others when the message is acknowledged. 0 or -ENOMEM. */
int ring_ownership_sent(struct ring_ownership *ownership, uint64_t seq);

/* Gives the guest the room back of messages up to seq, which are stored. */
void ring_ownership_acknowledged(struct ring_ownership *ownership, uint64_t seq);

#endif
