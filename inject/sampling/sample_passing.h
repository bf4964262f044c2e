/* Passes samples of kernels on to the agent as definitions, kernel by kernel, and counts them in the ledger. One per
 * process. One thread at a time: the caller holds the lock around CUPTI's calls (kernel_sampler.c). */
#ifndef SAMPLE_PASSING_H
#define SAMPLE_PASSING_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling_session.h"

struct cupti_samples;
struct definition_writer;

/* Where samples come from. All is borrowed. */
struct sample_origin {
	const struct sampling_session *session;
	const uint32_t *reasons; /* sample_passing_number() */
	uint32_t device_id;      /* CUDA ordinal */
};

struct sample_sums {
	uint64_t passed; /* on to the agent, or lost on the way, which the ledger has, too */
	uint64_t other;  /* of code that is not the program's */
	uint64_t lost;   /* by CUPTI */
};

/* Begins anew. are_exact: each sample has its launch (exact_windows.h). The writer is borrowed for good. */
void sample_passing_init(struct definition_writer *definitions, bool are_exact);

/* Gives each reason of a session a number of the process's, and defines it: reasons differ from GPU to GPU. reasons: by
 * CUPTI's index, DEFINITION_STALL_REASONS_MAX. */
void sample_passing_number(const struct sampling_session *session, uint32_t *reasons);

/* Passes on what CUPTI has given, and marks it as passed. is_whole: CUPTI gave all that it had in one call, and its sum
 * tells whether all of it is there. Where several calls are needed, each sum has samples that another call gives. */
struct sample_sums sample_passing_add(const struct sample_origin *origin,
				      struct cupti_samples *samples, bool is_whole);

#endif
