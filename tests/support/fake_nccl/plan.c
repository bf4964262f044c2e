#include "plan.h"

#include <stdlib.h>

#include "encounter.h"
#include "fake_cuda.h"
#include "truth.h"

#define KERNEL(length, name)                                                                       \
	FAKE_CUDA_KERNEL_INIT("_Z" #length "ncclDevKernel_" name                                   \
			      "24ncclDevKernelArgsStorageILm4096EE",                               \
			      FAKE_CUDA_FIXED_NS(20000))

/* One each, as the first launch writes into it. */
static struct fake_cuda_kernel kernels[FAKE_FUNCTIONS] = {
	[FAKE_ALL_REDUCE] = KERNEL(39, "AllReduce_Sum_f32_RING_LL"),
	[FAKE_BROADCAST] = KERNEL(31, "Broadcast_RING_LL"),
	[FAKE_REDUCE] = KERNEL(36, "Reduce_Sum_f32_RING_LL"),
	[FAKE_ALL_GATHER] = KERNEL(31, "AllGather_RING_LL"),
	[FAKE_REDUCE_SCATTER] = KERNEL(43, "ReduceScatter_Sum_f32_RING_LL"),
	[FAKE_SEND] = KERNEL(22, "SendRecv"),
	[FAKE_RECV] = KERNEL(22, "SendRecv"),
};

static bool add(const struct profiler_task *call, enum fake_function function, int peer,
		struct profiler_task *tasks, uint32_t max, uint32_t *nr)
{
	if ((*nr)++ >= max)
		return false;
	tasks[*nr - 1] = *call;
	tasks[*nr - 1].function = function;
	tasks[*nr - 1].peer = peer;
	tasks[*nr - 1].p2p = function == FAKE_SEND || function == FAKE_RECV;
	profiler_called(&tasks[*nr - 1]);
	return true;
}

uint32_t plan_append(const struct profiler_task *call, struct profiler_task *tasks, uint32_t max)
{
	const int nr_ranks = (int)call->comm->nr_ranks, rank = (int)call->comm->rank;
	const enum fake_function function = call->function;
	uint32_t nr = 0;

	if (nr_ranks == 1 ||
	    (function != FAKE_ALL_TO_ALL && function != FAKE_GATHER && function != FAKE_SCATTER)) {
		add(call, function, call->peer, tasks, max, &nr);
		return nr;
	}
	const bool is_root = rank == call->peer, all = function == FAKE_ALL_TO_ALL;
	for (int peer = 0; peer < nr_ranks; peer++) {
		if (all || (function == FAKE_GATHER ? peer == call->peer : is_root))
			add(call, FAKE_SEND, peer, tasks, max, &nr);
		if (all || (function == FAKE_SCATTER ? peer == call->peer : is_root))
			add(call, FAKE_RECV, peer, tasks, max, &nr);
	}
	return nr;
}

static int compare(const void *left, const void *right)
{
	const struct profiler_task *a = left, *b = right;

	if (a->p2p != b->p2p)
		return a->p2p ? 1 : -1;
	if (!a->p2p && a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->order > b->order ? 1 : -1;
}

static void expect(struct ncclComm *comm, const struct profiler_task *tasks, uint32_t nr_tasks)
{
	uint32_t *sends = calloc(2 * nr_tasks, sizeof(*sends));
	uint32_t *receives = sends + nr_tasks;
	struct encounter_plan plan = {.comm = comm, .sends = sends, .receives = receives};

	if (!sends)
		abort();
	for (uint32_t i = 0; i < nr_tasks; i++) {
		if (tasks[i].function == FAKE_SEND)
			sends[plan.nr_sends++] = (uint32_t)tasks[i].peer;
		else if (tasks[i].function == FAKE_RECV)
			receives[plan.nr_receives++] = (uint32_t)tasks[i].peer;
		else
			plan.nr_collectives++;
	}
	encounter_expect(&plan);
	free(sends);
}

static ncclResult_t launch(struct ncclComm *comm, const struct profiler_task *tasks,
			   uint32_t nr_tasks)
{
	cudaStream_t stream = tasks[0].stream;
	int device;

	if (cudaGetDevice(&device) || cudaSetDevice(comm->device))
		return ncclUnhandledCudaError;
	if (!tasks[0].captured)
		expect(comm, tasks, nr_tasks);
	profiler_launches(comm, stream);
	cudaError_t error = cudaLaunchKernel(&kernels[tasks[0].function], (dim3){1, 1, 1},
					     (dim3){96, 1, 1}, NULL, 0, stream);
	profiler_launched();
	return cudaSetDevice(device) || error ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t plan_run(struct ncclComm *comm, struct profiler_task *tasks, uint32_t nr_tasks)
{
	qsort(tasks, nr_tasks, sizeof(*tasks), compare);
	ncclResult_t result = launch(comm, tasks, nr_tasks);
	/* A communicator of one rank has nothing to do but to copy, of which nobody is told. */
	if (result || (comm->nr_ranks == 1 && !tasks[0].p2p))
		return result;
	truth_write_plan(comm, tasks, nr_tasks, kernels[tasks[0].function].name);
	profiler_posted(comm, tasks, nr_tasks);
	return ncclSuccess;
}
