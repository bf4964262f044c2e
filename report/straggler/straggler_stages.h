/* Finds the pipelines of a job by the newest sends and receives of each rank: ranks that follow one another, each of
 * which exchanges data with the ones before and behind it alone. A rank's place in its pipeline is its stage.
 *   - On a communicator of a pipeline some kernels only send, and some only receive. So all-to-all exchanges and rings,
 *     in which each kernel does both, are none.
 *   - The first stage is at that end which has the lower rank of the job. In a circle (interleaved stages) it is the
 *     lowest rank, and the next one is the lower of its neighbours.
 *   - A job's pipelines all have the same number of stages: that of the longest. Others are left out.
 * Pure; any thread. */
#ifndef STRAGGLER_STAGES_H
#define STRAGGLER_STAGES_H

#include <stdint.h>

struct collective_folds;
struct profile;

struct straggler_stage_rank {
	uint32_t process;  /* the roster's id */
	uint32_t pipeline; /* from 0 */
	uint32_t stage;    /* from 0 */
};

struct straggler_stages {
	struct straggler_stage_rank *ranks; /* owns; by stage, then by pipeline */
	uint32_t nr_ranks, nr_stages, nr_pipelines;
};

/* nr_ranks is 0 if there is no pipeline. 0 or -ENOMEM; call straggler_stages_fini() in either case. */
int straggler_stages_find(const struct profile *profile, const struct collective_folds *folds,
			  struct straggler_stages *stages);
void straggler_stages_fini(struct straggler_stages *stages);

#endif
