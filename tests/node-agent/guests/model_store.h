/* The aggregator of ring_model.h: what it has received, and what of that is stored. It may die at any moment and comes
 * back with what was stored. By the rules of proto/wire.md ("Order and loss"). */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ring/record_ring.h"

#define MODEL_GUESTS  2u
#define MODEL_LANES   3u   /* two of launches, then the activity lane */
#define MODEL_RECORDS 128u /* of each lane of a guest, at most */
#define MODEL_EPOCHS  32u
#define MODEL_BATCH   5u /* records of a frame */
#define MODEL_ON_WAY  4u /* frames of an agent */

enum model_frame_kind { MODEL_EVENTS, MODEL_LEDGER, MODEL_END };

struct model_frame {
	enum model_frame_kind kind;
	uint32_t guest, nr;
	struct {
		uint32_t lane, number;
	} records[MODEL_BATCH]; /* MODEL_EVENTS */
	uint64_t lost
		[MODEL_LANES]; /* MODEL_LEDGER: replaces what was said before; [0] is of both lanes of launches */
};

struct model_state {
	uint64_t seq[MODEL_EPOCHS]; /* the last message of each agent */
	bool over[MODEL_EPOCHS];    /* a successor has asked about it */
	struct {
		uint8_t count[MODEL_LANES][MODEL_RECORDS]; /* how often each record came */
		uint64_t lost[MODEL_LANES];
		bool ended;
	} guests[MODEL_GUESTS];
};

struct model_way {
	uint64_t first_seq;
	uint32_t nr;
	struct model_frame frames[MODEL_ON_WAY];
};

struct model_store {
	bool alive;
	bool forgets; /* that a successor has asked: the model must object */
	struct model_state received, stored;
	struct model_way ways[MODEL_EPOCHS]; /* of each agent: sent, and not heard yet */
};

/* What was received is stored. */
void model_store_commit(struct model_store *store);

/* Dies: what was received alone is gone. */
void model_store_die(struct model_store *store);

/* An agent says HELLO: *seq is the number of its last message, which is stored. What is on its way from it is not heard
 * any more: it comes again. false: a successor has asked about it, and it is refused. */
bool model_store_hello(struct model_store *store, uint32_t agent, uint64_t *seq);

/* A successor asks about an agent, whose epoch is over with the answer: the number of its last message, which is
 * stored. */
uint64_t model_store_ask(struct model_store *store, uint32_t agent);

/* An agent sends its next frame. false: there is no room for it on the way. */
bool model_store_send(struct model_store *store, uint32_t agent, uint64_t seq,
		      const struct model_frame *frame);

/* Hears the frame of this agent that was on its way for longest, if there is one. One that was applied before changes
 * nothing, and one of an epoch that is over neither. */
void model_store_receive(struct model_store *store, uint32_t agent);

#endif
