/* How fast one run goes by the wall clock, and where its GPUs are idle: what a check knows beside the times of kernels
 * (run_work.h). Used by one thread. */
#ifndef RUN_PACE_H
#define RUN_PACE_H

#include <stdint.h>

#include "report/profile/profile.h"

/* Single launches that began in one tenth of a second (kept_log.h), on all ranks. */
struct run_window {
	uint32_t item;
	uint64_t number; /* of the tenth */
	double ns;       /* what these launches took */
	double usual_ns; /* the same if each took the mean of its kernel, stack and process */
};

/* A function of the program below which GPUs are idle. */
struct run_idle {
	char *name; /* owns, as line; without a number, so that it matches other versions: "train.py:load_batch" */
	char *line; /* the line that has most: "train.py:load_batch:12" */
	uint64_t ns, line_ns;
};

/* Plain data. Zeroed: nothing is known. */
struct run_pace {
	/* Tenths of seconds with the work that began in them, of all processes that have enough of them. ns is the wall
	 * time, usual_ns the work without NCCL's; item is not used. By number; owns, as all. Pauses are left out, and
	 * so are the first and the last tenth, which have only a part. */
	struct run_window *tenths;
	uint32_t nr_tenths, room;
	double wall_ns, work_ns; /* their sums */
	uint64_t idle_ns;        /* of all GPUs, without pauses; 0: not known */
	uint64_t busy_ns;        /* of all GPUs; 0: as idle_ns */
	uint32_t nr_gpus;        /* that were busy */
	struct run_idle *idle;   /* by name */
	uint32_t nr_idle;
	int32_t gpu; /* REPORT_GPU_NONE: several */
};

/* Adds the windows of one process, by number: those of one item, with KEPT_LOG_GPU_NS each. 0 or -ENOMEM. */
int run_pace_add(struct run_pace *pace, const struct run_window *windows, uint32_t nr);

/* Brings the tenths into order. */
void run_pace_finish(struct run_pace *pace);

/* Adds the busy and the idle time, and the functions of the latter, if the profile has samples of host threads. 0 or
 * -errno. */
int run_pace_read_idle(struct run_pace *pace, const struct profile *profile);

/* Returns the function of that name; NULL: none. */
const struct run_idle *run_pace_find(const struct run_pace *pace, const char *name);

void run_pace_fini(struct run_pace *pace);

#endif
