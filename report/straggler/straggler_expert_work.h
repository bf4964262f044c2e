/* How long a rank's GPU computes between its exchanges with all ranks of a communicator (all_to_all): in a mixture of
 * experts that is its expert, between sending out tokens and sending back results, and the rest of a layer. Exchanges
 * are told apart by the stacks that launch them. It is told by the GPU work that the profile keeps with its times
 * (aggregator/profile/kept_log.h). Part of report_straggler_experts; one thread. */
#ifndef STRAGGLER_EXPERT_WORK_H
#define STRAGGLER_EXPERT_WORK_H

#include <stdint.h>

struct collective_folds;
struct database;
struct profile;

/* Exchanges with one stack, and the work before them. */
struct straggler_expert_part {
	uint32_t node, name; /* of the exchanges' kernels: stack and name */
	uint64_t count;      /* exchanges whose work is known */
	uint64_t compute_ns; /* of all of them */
};

struct straggler_expert_work {
	struct straggler_expert_part *parts; /* owns */
	uint32_t nr_parts;
};

struct straggler_expert_input {
	const struct profile *profile;
	struct database *database; /* of the profile */
	const struct collective_folds *folds;
	uint32_t level;     /* of what is kept (kept_window.h) */
	uint64_t window_ns; /* so much of the newest work; 0: all */
};

/* 0; -EPROTO; other errors of database.h; -ENOMEM. Call straggler_expert_work_fini() in either case. */
int straggler_expert_work_read(const struct straggler_expert_input *input, uint32_t process,
			       uint32_t communicator_id, struct straggler_expert_work *work);
void straggler_expert_work_fini(struct straggler_expert_work *work);

/* Returns the mean time before the exchanges of a stack; below 0: none is known. */
double straggler_expert_work_mean(const struct straggler_expert_work *work, uint32_t node,
				  uint32_t name);

#endif
