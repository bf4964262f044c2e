/* The world of ring_model.h: guests, agents and the aggregator. For ring_model.c and model_agent.c, and included
 * nowhere else. */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include "model_store.h"
#include "node-agent/guests/ring_ownership.h"
#include "node-agent/publish/send_window.h"
#include "ring_model.h"

#define MODEL_OFFERS 8u /* in the socket's queue */
#define MODEL_AGENTS 3u /* that live at a time: one listens */

enum model_work { WORK_READ, WORK_ANNOUNCE, WORK_PUSH, WORK_SENT };

/* A process as its agent sees it. */
struct model_entry {
	struct record_ring *ring; /* owns; NULL: free */
	struct ring_ownership ownership;
	struct record_ring_snapshot snapshot;
	bool in_pass, last_pass, died, over;
	enum model_work work;
	struct model_frame frame; /* read, and not yet in the window */
};

struct model_agent {
	uint32_t number; /* its epoch */
	uint8_t epoch[RECORD_RING_EPOCH];
	bool alive, stalled, leaving, connected;
	bool greeted; /* the aggregator knows it */
	bool has_answer[MODEL_EPOCHS];
	uint64_t answers[MODEL_EPOCHS]; /* how far those before it came */
	struct send_window *window;
	uint64_t next_seq;
	struct model_entry entries[MODEL_GUESTS];
};

struct model_guest {
	struct record_ring *ring;
	int fd; /* kept for the next agent */
	bool alive, finished, unreachable;
	uint32_t produced[MODEL_LANES];
	uint64_t lost[MODEL_LANES];
	uint64_t asked, beat;
};

struct model_world {
	uint64_t random, step;
	enum ring_model_rule rule;
	struct model_guest guests[MODEL_GUESTS];
	uint32_t nr_guests;
	struct model_agent agents[MODEL_AGENTS];
	struct model_agent *listening; /* NULL: nobody */
	uint32_t nr_agents;
	uint32_t offers[MODEL_OFFERS], nr_offers; /* in the socket's queue */
	struct model_store store;
	bool store_stalled;
	struct ring_model_counts *counts;
};

static inline uint32_t model_world_dice(struct model_world *world, uint32_t sides)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return (uint32_t)((world->random * 0x2545f4914f6cdd1dull) >> 33) % sides;
}

#endif
