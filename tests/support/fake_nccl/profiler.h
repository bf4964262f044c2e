/* The profiler plugin that NCCL_PROFILER_PLUGIN names: loaded with the first communicator, closed with the last, told
 * of what NCCL tells (README.md). Any thread. */
#ifndef PROFILER_H
#define PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "comm.h"

/* A call as it was made, or a part of it. */
struct profiler_task {
	enum fake_function function; /* of p2p: FAKE_SEND or FAKE_RECV */
	int data_type, op;
	size_t count;
	int peer; /* or root; -1: none */
	uint64_t bytes;
	bool p2p;
	void *api;    /* what the plugin called the API's event */
	void *handle; /* and the task's */
	struct ncclComm *comm;
	cudaStream_t stream;
	bool captured;
	uint32_t order; /* in which it was called, in its group */
};

/* When a communicator is complete, and when it is given back. */
void profiler_begin(struct ncclComm *comm);
void profiler_end(struct ncclComm *comm);

/* A call is appended to the thread's group; then the group has ended. */
void profiler_called(struct profiler_task *task);
void profiler_group_ends(void); /* before its plans are launched */
void profiler_group_is_over(void);

/* Around a plan's launch, then when it is posted. */
void profiler_launches(struct ncclComm *comm, cudaStream_t stream);
void profiler_launched(void);
void profiler_posted(struct ncclComm *comm, struct profiler_task *tasks, uint32_t nr_tasks);

/* As it is told: "AllReduce", "ncclFloat32". */
const char *profiler_function_name(enum fake_function function);

#endif
