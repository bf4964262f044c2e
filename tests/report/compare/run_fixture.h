/* Runs that a test plays into stores, reads again, and checks. One check at a time; failures end the test. */
#ifndef RUN_FIXTURE_H
#define RUN_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/compare/check_writer.h"
#include "report/compare/run_check.h"

#define RUN_FIXTURE_RANKS 2u
#define RUN_FIXTURE_STEPS 60u
#define RUN_FIXTURE_RUNS  8u

/* A run of two ranks. Durations vary by a pattern that is the same in each run, and by some ns of the run's. */
struct run_plan {
	uint32_t steps;        /* 0: RUN_FIXTURE_STEPS */
	uint64_t planted_ns;   /* more in each launch of "planted" */
	uint64_t run_ns;       /* more in each launch */
	uint32_t more;         /* more launches of "planted" a step */
	uint32_t grown;        /* the same, launched by train.py:optimizer:22 */
	const char *renamed;   /* in place of "gemm" */
	uint32_t ranks;        /* 0: RUN_FIXTURE_RANKS */
	uint32_t others;       /* further kernels, of 1 ms */
	uint32_t slower;       /* thousandths more of each of these */
	bool with_lone_ranks;  /* no communicator */
	uint32_t marks;        /* steps that rank 0 marks; the others mark none */
	uint32_t burst;        /* further short kernels a step, on 42 ms at most */
	uint64_t more_host_ns; /* more in each step on the host, in load_batch() */
};

extern struct run_fixture {
	struct run_work *runs[RUN_FIXTURE_RUNS]; /* owns, until run_fixture_forget() */
	uint32_t nr_runs;
	struct check_result *result; /* owns */
} run_fixture;

/* Plays a run into a store of its own, and reads it as the next of the runs. */
void run_fixture_play(const struct run_plan *plan);

/* Plays one step of a rank into the store of the running job. *id: the correlation id before it, and after it. */
void run_fixture_step(const struct run_plan *plan, uint32_t process, uint32_t rank, uint32_t step,
		      uint32_t *id);

/* The question whether the runs after the first nr_before are slower by 1 %. Borrowed until the next call. */
const struct check_question *run_fixture_question(uint32_t nr_before);
void run_fixture_check(uint32_t nr_before);

/* Returns the row of that name in the result. */
const struct check_row *run_fixture_row(const char *name);

/* Asserts that the check of one run before, and one after, has this part of a text in a format. */
void run_fixture_assert_has(enum check_format format, const char *part);
void run_fixture_assert_lacks(enum check_format format, const char *part);

/* A teardown. */
int run_fixture_forget(void **state);

#endif
