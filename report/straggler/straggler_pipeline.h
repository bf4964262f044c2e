/* Compares the stages of a job's pipelines. In a step all stages do their work once for each micro-batch, so the slow
 * stage is the one whose GPUs wait least, and all others wait for it. A stage may be late because of another one, and a
 * rank because of its partners: both then wait longer. So what counts is all that a rank is in NCCL's kernels alone
 * (straggler_timeline.h), whatever it waits for. Moving data counts as waiting: a stage in the middle moves twice as
 * much as the first and the last one, and is not late for that. The stretches of the run take the place of collectives
 * in the tests of straggler.h. Part of report_straggler; one thread. */
#ifndef STRAGGLER_PIPELINE_H
#define STRAGGLER_PIPELINE_H

#include "straggler_look.h"
#include "straggler_stages.h"
#include "straggler_timeline.h"

#include "aggregator/profile/collective_folds.h"
#include "report/lateness/straggler_subject.h"
#include "report/profile/profile.h"

#define STRAGGLER_PIPELINE_STRETCHES 128u
#define STRAGGLER_PIPELINE_UNKNOWN   64u /* stretches where steps are not known */
#define STRAGGLER_PIPELINE_LEAST     8u  /* steps of a look, at least */
#define STRAGGLER_PIPELINE_SAMPLED                                                                 \
	4u /* so much more of the work counts in a look where a part of it is kept */

struct straggler_pipeline_stage {
	uint32_t first, nr_ranks;     /* of stages.ranks */
	struct straggler_times times; /* of the run, mean of its ranks */
};

struct straggler_pipeline {
	struct straggler_stages stages;
	uint64_t steps;                            /* 0: not known */
	uint64_t span_ns;                          /* of the run, median of the ranks */
	struct straggler_pipeline_stage *of_stage; /* owns */
	struct straggler_times *times;             /* owns; of each of stages.ranks */
	/* The virtual collectives: a rank's time in one is what it waits and moves in a step. Member i is
	 * stages.ranks[i]. used is 0 if the GPU work of a rank is not known. */
	struct collective_fold fold;
	struct straggler_subject *counts; /* owns; last, others_ns and waited_ns of each rank */
	uint64_t
		nr_stretches; /* of steps, that are compared: a rank is last in each of them, not in steps */
};

/* store_path: of the profile. *pipeline is NULL if the job has none. 0; -EPROTO; other errors of database.h; -ENOMEM.
 * The caller owns *pipeline. */
int straggler_pipeline_create(const struct profile *profile, const char *store_path,
			      const struct collective_folds *folds,
			      struct straggler_pipeline **pipeline);

/* The same of the newest time of a job that runs. look->recent is not NULL, and no levels are in its profile; they are
 * loaded. If the steps are not known, or are too few, used is 0. */
int straggler_pipeline_look(const struct straggler_look *look,
			    struct straggler_pipeline **pipeline);
void straggler_pipeline_destroy(struct straggler_pipeline *pipeline); /* accepts NULL */

/* Returns the index of a process in stages.ranks; COLLECTIVE_FOLD_NONE: it is of no pipeline. */
uint32_t straggler_pipeline_find(const struct straggler_pipeline *pipeline, uint32_t process);

#endif
