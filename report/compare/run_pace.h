/* How fast one run goes by the wall clock, and where its GPUs are idle: what a check knows beside the times of kernels
 * (run_work.h). Used by one thread. */
#ifndef RUN_PACE_H
#define RUN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "run_window.h"

#include "report/model/report_tree.h"
#include "report/profile/profile.h"

/* A function of the program below which GPUs are idle. */
struct run_idle {
	char *name; /* owns, as line; without a number, so that it matches other versions: "train.py:load_batch" */
	char *line; /* the line that has most: "train.py:load_batch:12" */
	uint64_t ns, line_ns;
};

/* Pieces of time with the work that began in them, of all processes that have enough of them. ns is the wall time,
 * usual_ns the work without NCCL's; item is not used. By number; owns. Pauses are left out, and so are the first and
 * the last piece, which have only a part. */
struct run_stretch {
	struct run_window *windows;
	uint32_t nr_windows, room;
	double wall_ns, work_ns; /* their sums */
};

/* Plain data. Zeroed: nothing is known. */
struct run_pace {
	/* Tenths of seconds, or hundredths, where a long run has kept too few tenths: so it is with many launches. */
	struct run_stretch of;
	struct run_stretch hundredths; /* empty after run_pace_finish() */
	uint64_t length_ns;            /* of the longest process, without pauses */
	/* Of the average GPU, from the first work to the last, without pauses; 0: not known. It has the start of the
	 * run, too. */
	uint64_t window_ns;
	uint64_t idle_ns;        /* of all GPUs, without pauses; 0: not known */
	uint64_t busy_ns;        /* of all GPUs; 0: not known */
	uint32_t nr_gpus;        /* that were busy */
	struct run_idle *idle;   /* by name */
	uint32_t nr_idle;
	int32_t gpu; /* REPORT_GPU_NONE: several */
};

#define RUN_PACE_PARTS 10u /* hundredths in a tenth */

/* Adds the windows of one process, by number: those of one item, with KEPT_LOG_GPU_NS each. parts: 1; RUN_PACE_PARTS:
 * they are the hundredths. 0 or -ENOMEM. */
int run_pace_add(struct run_pace *pace, const struct run_window *windows, uint32_t nr,
		 uint32_t parts);

/* Brings the windows into order, and chooses between tenths and hundredths. */
void run_pace_finish(struct run_pace *pace);

/* Returns whether the run is long enough to tell its noise, if enough is kept. */
bool run_pace_is_long(const struct run_pace *pace);

/* Adds the busy time and window_ns; and the idle time with its functions, if the profile has samples of host threads.
 * tree: the profile's. 0 or -errno. */
int run_pace_read_gpus(struct run_pace *pace, const struct profile *profile,
		       const struct report_tree *tree);

/* Returns the function of that name; NULL: none. */
const struct run_idle *run_pace_find(const struct run_pace *pace, const char *name);

void run_pace_fini(struct run_pace *pace);

#endif
