/* A made-up agent's life as frames: two processes, stacks, launches and records in every order,
 * ledgers, goodbye. The same number gives the same bytes. Fails the running test on any error. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define SCENARIO_FRAMES_MAX 80u
#define SCENARIO_AGENTS     6u /* of a whole job */

struct scenario_frame {
	uint8_t *bytes; /* owns */
	size_t size;
};

struct scenario {
	struct message_hello hello;
	uint8_t epoch[WIRE_EPOCH_SIZE];
	struct scenario_frame hello_frame;
	struct scenario_frame frames[SCENARIO_FRAMES_MAX]; /* frames[seq - 1] */
	uint32_t nr_frames;
};

void scenario_init(struct scenario *scenario, uint32_t number);
void scenario_fini(struct scenario *scenario);

/* Encodes one message into a frame of its own. */
struct scenario_frame scenario_encode(const struct message *message);

#endif
