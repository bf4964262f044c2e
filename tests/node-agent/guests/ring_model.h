/* A small world in which anything may happen at any moment: two guests that record, agents that stall, die, leave, lose
 * their socket and are followed by the next while they live, and an aggregator that stalls and dies. An agent takes
 * rings once the aggregator has heard of it. Rings, ownership, marks and send windows are the real ones; sockets
 * and clocks are not there. A seed is a schedule: equal seeds do the same. */
#ifndef RING_MODEL_H
#define RING_MODEL_H

#include <stdint.h>

enum ring_model_rule {
	RING_MODEL_REAL, /* agents do what ring_ownership.h says */
	RING_MODEL_READ_AGAIN, /* an agent takes a ring of its own for a predecessor's: the model must object */
	RING_MODEL_FORGET, /* an aggregator takes messages of an epoch that a successor has asked for: likewise */
};

/* What happened in the schedules so far, to show that they are worth something. */
struct ring_model_counts {
	uint64_t records, lost, stalls, deaths, departures, displaced, superseded, takeovers,
		dropped_offers, store_deaths, store_stalls, unfinished;
};

/* Runs a schedule to its end and adds to the counts. NULL, or in what it went against the rule (static storage). */
const char *ring_model_run(uint64_t seed, enum ring_model_rule rule,
			   struct ring_model_counts *counts);

#endif
