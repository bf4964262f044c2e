/* A made training job with pipelines, in the store of straggler_fixture.h: tensor × data × pipeline parallel, with the
 * schedule 1F1B. Ranks count tensor parallelism first, then data, then the stage. Each pass of a micro-batch is a
 * kernel and, with several tensor-parallel ranks, an all_reduce of these. Stages send and receive as Megatron's do: in
 * the middle of a step a kernel sends and receives. A step ends with an all_reduce of the data-parallel ranks and, if
 * asked for, with one of all ranks. Clocks of GPUs are seconds apart. */
#ifndef STRAGGLER_PARALLEL_H
#define STRAGGLER_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

enum parallel_noise { PARALLEL_NORMAL, PARALLEL_LOGNORMAL, PARALLEL_DRIFT };

struct parallel {
	uint32_t tensor, data, stages, micro_batches, steps;
	double forward_ms; /* a backward pass takes twice that */
	double noise;      /* of each pass, as a part of it */
	enum parallel_noise noise_kind;
	int32_t late_stage, late_rank; /* -1: none */
	double late;                   /* so much longer are their passes */
	uint32_t late_from, late_to;   /* in these steps, from 0; late_to 0: until the end */
	double load_ms; /* the late stage's hosts load for so long before each step */
	double move_ms; /* of each send; 0: 0.05 */
	bool all_ranks;
	/* ranks that the job says it has, and all clocks are the same; 0: those that there are */
	int32_t world;
	void (*committed)(void); /* is called after each 16 steps; NULL: nothing is */
	uint64_t key; /* of the job's first communicator */
	uint64_t seed;
};

/* Plays the job, and commits it. Asserts that it comes to its end. */
void parallel_play(const struct parallel *parallel);

#endif
