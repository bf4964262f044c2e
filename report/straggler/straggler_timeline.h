/* Divides the time of a rank's GPUs: they compute, they only wait or move data in NCCL's kernels, or they are idle. The
 * time is that from the first of its NCCL kernels to the end of the last one, in stretches of equal length.
 *   - It is told by the GPU work that the profile keeps with its times (aggregator/profile/kept_log.h). Of a long run
 *     that is the work in some windows, the same on all ranks, and stands for the rest of its stretch.
 *   - NCCL's kernels beside computation count as computation: they hold nobody up.
 *   - What NCCL's kernels of a rank move is known on average (collective_split.h). The rest of their time is a wait.
 *   - Of a job that runs, only its newest time counts.
 * Part of straggler_pipeline; one thread. */
#ifndef STRAGGLER_TIMELINE_H
#define STRAGGLER_TIMELINE_H

#include <stdint.h>

#include "aggregator/profile/kept_log.h"

struct collective_folds;
struct database;
struct profile;

struct straggler_times {
	uint64_t compute_ns, waits_ns, moves_ns, idle_ns;
};

struct straggler_stretch {
	struct straggler_times times;
	uint64_t known_ns; /* the part of it of which the work is kept */
};

struct straggler_timeline {
	uint64_t start_ns, end_ns; /* CUPTI's clock; equal: there are no kernels of NCCL */
	struct straggler_stretch *stretches; /* owns */
};

/* The run has `steps` steps, and each stretch has 2^shift of them. level: of what is kept (kept_window.h). */
struct straggler_timeline_input {
	const struct profile *profile;
	struct database *database; /* of the profile */
	const struct collective_folds *folds;
	uint64_t steps;
	enum kept_sort sort; /* KEPT_GPU or KEPT_NEWEST: what counts */
	uint32_t shift, level, nr_stretches;
	uint64_t window_ns; /* so much of the time at most, the newest; 0: all */
};

/* 0; -EPROTO; other errors of database.h; -ENOMEM. Call straggler_timeline_fini() in either case. */
int straggler_timeline_read(const struct straggler_timeline_input *input, uint32_t process,
			    struct straggler_timeline *timeline);
void straggler_timeline_fini(struct straggler_timeline *timeline);

#endif
