/* What was called, a line for each outermost public call that a profiler must show (README.md), in FAKE_NCCL_TRUTH. Any
 * thread. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "comm.h"

/* Around each public function: calls within calls are not written. */
void truth_enter(void);
void truth_leave(void);
bool truth_is_within(void); /* a public function that has been entered */

struct truth_call {
	const struct ncclComm *comm; /* NULL: none */
	enum fake_function function;
	int data_type;
	int peer; /* -1: none */
	size_t count;
	uint64_t start_ns; /* truth_now_ns() */
	ncclResult_t result;
};

/* Writes a call that has ended, and counts it on its communicator if it went well. Between enter and leave. */
void truth_write_call(const struct truth_call *call);
void truth_write_group(uint64_t group, uint64_t start_ns, ncclResult_t result);
void truth_write_communicator(const struct ncclComm *comm);

struct profiler_task;
/* Writes a plan and what a plugin is told of it: tasks in its order. */
void truth_write_plan(struct ncclComm *comm, const struct profiler_task *tasks, uint32_t nr_tasks,
		      const char *kernel);

uint64_t truth_now_ns(void);

size_t truth_type_size(int data_type); /* bytes of an element */

#endif
