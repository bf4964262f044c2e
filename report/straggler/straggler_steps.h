/* Counts the steps of a process that sends and receives: a step is the pattern of its calls of NCCL on a communicator
 * that comes again and again (call_period.h). A pattern of few kernels is one micro-batch or one layer. Then
 * another communicator, with fewer patterns in the run, tells the steps. Pure; any thread. */
#ifndef STRAGGLER_STEPS_H
#define STRAGGLER_STEPS_H

#include <stdint.h>

#define STRAGGLER_STEPS_FEW 4u /* kernels: a pattern of so few that send and receive is no step */

struct collective_folds;

/* *steps 0: they are not known. 0 or -ENOMEM. */
int straggler_steps_count(const struct collective_folds *folds, uint32_t process, uint64_t *steps);

/* The same of a time as long as window_ns, at the rate of the newest calls that follow one another, of raw rows alone:
 * these may be the newest ones of a job that runs. */
int straggler_steps_within(const struct collective_folds *folds, uint32_t process,
			   uint64_t window_ns, uint64_t *steps);

#endif
