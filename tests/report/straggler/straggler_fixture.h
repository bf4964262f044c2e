/* A job as its agents tell of it: a store in a folder of its own, an agent of node01, ranks with collectives, GPU work and
 * samples. Every call is asserted. */
#ifndef STRAGGLER_FIXTURE_H
#define STRAGGLER_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"
#include "report/profile/profile.h"
#include "report/straggler/report_straggler.h"

/* cmocka's set-up and tear-down. */
int job_set_up(void **state);
int job_tear_down(void **state);

/* The next tear-down moves the store to that file, of the same file system, instead of removing it. The caller owns
 * file_path until then. */
void job_keep(const char *file_path);

/* The store's file. */
const char *job_path(void);

void job_commit(void);
void job_commit_fails(
	void);          /* a commit that fails after it has written the calls: nothing is stored */
void job_restart(void); /* without a commit: what came since the last one comes again, or not */
void job_keep_samples(void);

/* The ranks of the job, of all processes that come later; -1 before: not known. */
void job_world(int32_t size);

/* The job of all processes that come later; NULL, as before: it has no id. Borrowed until the tear-down. */
void job_id(const char *id);

/* Starts the agent of another node, on which processes are that come later. */
void job_node(const char *node);

/* A process of that rank (-1: none) on a GPU of its own: its id, from 1. */
uint32_t job_process(int32_t rank);
void job_end(uint32_t process);

/* Ends a process at a time of the aggregator's CLOCK_REALTIME, by SIGTERM or by itself. A process that runs on was last
 * heard of then. */
enum job_ending { JOB_RUNS, JOB_DIES, JOB_TERMINATED };
void job_end_at(uint32_t process, enum job_ending ending, uint64_t time_ns);

/* The process has had a capture window. */
void job_window(uint32_t process);

/* The host of a process has been compared with the aggregator's: its CLOCK_MONOTONIC is that much ahead of the
 * aggregator's CLOCK_REALTIME; negative: behind. */
void job_clock(uint32_t process, int64_t ahead_ns);

/* "train.py:main;train.py:step": each frame a Python function, or a mark where there is no ':'. Equal ones are one. 0:
 * "". */
uint32_t job_stack(const char *path);

void job_communicator(uint32_t process, uint32_t id, uint64_t key, uint32_t rank,
		      uint32_t nr_ranks);
void job_call(uint32_t process, const struct collective *call);
struct collective job_all_reduce(uint32_t communicator, uint64_t sequence, uint32_t correlation_id,
				 uint64_t start_ns, uint64_t duration_ns);

struct job_kernel {
	const char *name, *stack; /* stack NULL: no launch */
	uint32_t correlation_id, tid;
	uint64_t start_ns, ns;   /* CUPTI's clock */
	uint64_t delay_ns;       /* from the launch to the start */
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock */
	bool of_graph, clock_unknown;
};
void job_kernel(uint32_t process, const struct job_kernel *kernel);

/* kind: enum host_sample_kind. */
void job_sample(uint32_t process, uint32_t kind, const char *stack, const char *reason,
		uint32_t tid, uint64_t end_ns, uint64_t duration_ns);

/* What is in the store. The caller owns both. */
struct profile *job_profile(void);
struct collective_folds *job_collectives(void);

/* Who is late in it. The caller owns it. */
struct report_straggler *job_straggler(void);

/* Numbers that look random: uniform in [0, 1), and about normal with mean 0 and deviation 1. */
double job_uniform(uint64_t *seed);
double job_normal(uint64_t *seed);

#endif
