/* Whose a ring is, and which message carries what of it: the agent's half of the rule that proto/ring/record_ring.h
 * states ("from one agent to the next"). Every record is in one message that arrives, or counted as lost, whichever
 * agent dies when.
 *
 * An agent takes a ring once. Then, for each message with records of it: read, ring_ownership_announce(), give the
 * message to the send window, ring_ownership_sent(); and ring_ownership_acknowledged() when the aggregator has it.
 *
 * An agent that was stalled may wake in the middle of this, and its successor has taken the ring meanwhile. Each of the
 * calls then leaves the ring alone: the message that is being made will be refused, since its epoch is over.
 *
 * Pure: it reads and writes the ring, and knows no clock and no socket. Single-threaded. */
#ifndef RING_OWNERSHIP_H
#define RING_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "release_queue.h"

#include "proto/ring/record_ring.h"

/* What an agent has to do with a ring that is offered to it. */
enum ring_claim {
	RING_CLAIM_TAKE, /* nobody's: take it */
	RING_CLAIM_ASK,  /* another's: ask how far that one came, and take it */
	RING_CLAIM_DROP, /* our own already: it is read, or was read to its end */
};

struct ring_ownership {
	struct record_ring *ring; /* borrowed */
	uint8_t epoch[RECORD_RING_EPOCH];
	struct release_queue releases; /* owns */
	bool taken;
};

/* epoch is our own. Touches nothing in the ring, which is borrowed until ring_ownership_fini() (accepts zeroed
 * memory). */
void ring_ownership_init(struct ring_ownership *ownership, struct record_ring *ring,
			 const uint8_t epoch[static RECORD_RING_EPOCH]);
void ring_ownership_fini(struct ring_ownership *ownership);

/* Says what to do with a ring that is offered, before anything else is done with it. *before is the owner that is to be
 * asked about, zeros if there is none. */
enum ring_claim ring_ownership_claim(const struct record_ring *ring,
				     const uint8_t epoch[static RECORD_RING_EPOCH],
				     uint8_t before[static RECORD_RING_EPOCH]);

/* Takes the ring, before the first pass: reads on from what was released. */
void ring_ownership_take(struct ring_ownership *ownership);

/* Takes the ring, before the first pass: reads on from where the last owner's message durable_seq ended. */
void ring_ownership_take_after(struct ring_ownership *ownership, uint64_t durable_seq);

/* Takes the ring, before the first pass, without what is in it by now. */
void ring_ownership_take_anew(struct ring_ownership *ownership);

/* Whether it was taken, and no other agent has taken it since. */
bool ring_ownership_holds(const struct ring_ownership *ownership);

/* Notes in the ring that the message seq, about to be made, carries what was read last: the message may be the last
 * thing that this agent does. 0; -EBUSY: ask ring_ownership_can_announce() before reading. */
int ring_ownership_announce(struct ring_ownership *ownership, uint64_t seq);
bool ring_ownership_can_announce(const struct ring_ownership *ownership);

/* Everything read so far is in the send window, up to message seq. Crowded lanes get their room back at once, the
 * others when it is acknowledged. 0 or -ENOMEM. */
int ring_ownership_sent(struct ring_ownership *ownership, uint64_t seq);

/* Messages up to seq are stored: gives the guest their room back. */
void ring_ownership_acknowledged(struct ring_ownership *ownership, uint64_t seq);

#endif
