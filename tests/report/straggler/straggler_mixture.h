/* A made training of a mixture of experts, in the store of straggler_fixture.h. In each of two layers a rank computes
 * attention, sends tokens to the experts of all ranks, computes its own experts, and sends the results back. The
 * exchanges are sends and receives of one group. A step ends with an all_reduce of all ranks. Clocks of GPUs are
 * seconds apart. */
#ifndef STRAGGLER_MIXTURE_H
#define STRAGGLER_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

struct mixture {
	uint32_t ranks, steps;
	double attention_ms, expert_ms; /* of a layer */
	double noise;                   /* of each computation, as a part of it */
	int32_t late_rank;              /* its experts get more tokens; -1: none */
	double late;                    /* so many more, as a part of the others' */
	bool wanders;                   /* another rank's experts do, in each layer of each step */
	bool same_tokens;               /* only its GPU takes longer */
	bool one_call;                  /* an exchange is a call of ncclAlltoAll */
	bool begins_together;           /* with two all_reduces among those that exchange */
	bool one_communicator;          /* the all_reduce of a step is among those that exchange, too */
	uint64_t seed;
};

/* Plays the job, and commits it. */
void mixture_play(const struct mixture *mixture);

#endif
