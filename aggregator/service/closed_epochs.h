/* The epochs of agents and links whose jobs are closed, the newest of them. An agent that said goodbye may ask how far
 * it is stored; any other one comes too late. Single-threaded. */
#ifndef CLOSED_EPOCHS_H
#define CLOSED_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile_agents.h"

#include "proto/batch/message.h"

#define CLOSED_EPOCHS_MAX 4096u

struct closed_epoch {
	uint8_t epoch[WIRE_EPOCH_SIZE];
	uint64_t durable_seq;
	bool ended; /* it said goodbye */
};

struct closed_epochs {                                 /* zeroed: none */
	struct closed_epoch epochs[CLOSED_EPOCHS_MAX]; /* a ring */
	uint32_t count, next;
};

void closed_epochs_add(struct closed_epochs *closed, struct profile_agents agents);

/* NULL: it is not known. */
const struct closed_epoch *closed_epochs_find(const struct closed_epochs *closed,
					      const uint8_t epoch[WIRE_EPOCH_SIZE]);

#endif
