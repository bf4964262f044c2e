#include "group.h"

#include <pthread.h>
#include <stdlib.h>

#include "fake_cuda.h"
#include "truth.h"

#define JOBS_MAX     64u
#define LAUNCHES_MAX 4096u

static _Thread_local struct {
	uint32_t depth, nr_jobs, nr_launches;
	uint64_t nr_groups, number, start_ns;
	struct group_job jobs[JOBS_MAX];
	struct group_launch launches[LAUNCHES_MAX];
} group;

#define KERNEL(name) FAKE_CUDA_KERNEL_INIT("ncclDevKernel_" name, FAKE_CUDA_FIXED_NS(20000))

/* One each, as the first launch writes into it. */
static struct fake_cuda_kernel kernels[FAKE_FUNCTIONS] = {
	[FAKE_ALL_REDUCE] = KERNEL("AllReduce_Sum_f32_RING_LL"),
	[FAKE_BROADCAST] = KERNEL("Broadcast_RING_LL"),
	[FAKE_REDUCE] = KERNEL("Reduce_Sum_f32_RING_LL"),
	[FAKE_ALL_GATHER] = KERNEL("AllGather_RING_LL"),
	[FAKE_REDUCE_SCATTER] = KERNEL("ReduceScatter_Sum_f32_RING_LL"),
	[FAKE_SEND] = KERNEL("SendRecv"),
	[FAKE_RECV] = KERNEL("SendRecv"),
	[FAKE_ALL_TO_ALL] = KERNEL("SendRecv"),
	[FAKE_GATHER] = KERNEL("SendRecv"),
	[FAKE_SCATTER] = KERNEL("SendRecv"),
};

static ncclResult_t run_job(struct group_job *job)
{
	return job->comm ? comm_join(job->comm)
			 : comm_split(job->parent, job->split, job->color, job->key, job->newcomm);
}

static void *run_in_thread(void *argument)
{
	struct group_job *job = argument;

	job->result = run_job(job);
	return NULL;
}

static ncclResult_t run_launch(const struct group_launch *launch)
{
	int device;

	if (cudaGetDevice(&device) || cudaSetDevice(launch->comm->device))
		return ncclUnhandledCudaError;
	cudaError_t error = cudaLaunchKernel(&kernels[launch->function], (dim3){1, 1, 1},
					     (dim3){96, 1, 1}, NULL, 0, launch->stream);
	return cudaSetDevice(device) || error ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t group_make(const struct group_job *job)
{
	struct group_job now = *job;

	if (group.depth == 0)
		return run_job(&now);
	if (group.nr_jobs == JOBS_MAX)
		return ncclInternalError;
	group.jobs[group.nr_jobs++] = now;
	return ncclSuccess;
}

ncclResult_t group_launch(const struct group_launch *launch)
{
	if (group.depth == 0)
		return run_launch(launch);
	if (group.nr_launches == LAUNCHES_MAX)
		return ncclInternalError;
	group.launches[group.nr_launches++] = *launch;
	return ncclSuccess;
}

void group_start(bool counts)
{
	if (group.depth++ == 0) {
		group.number = counts ? ++group.nr_groups : 0;
		group.start_ns = truth_now_ns();
	}
}

static ncclResult_t run_jobs(void)
{
	pthread_t threads[JOBS_MAX];
	ncclResult_t result = ncclSuccess;

	for (uint32_t i = 0; i < group.nr_jobs; i++)
		if (pthread_create(&threads[i], NULL, run_in_thread, &group.jobs[i]))
			abort();
	for (uint32_t i = 0; i < group.nr_jobs; i++) {
		pthread_join(threads[i], NULL);
		if (group.jobs[i].result)
			result = group.jobs[i].result;
	}
	return result;
}

ncclResult_t group_end(void)
{
	if (group.depth == 0)
		return ncclInvalidUsage;
	if (--group.depth)
		return ncclSuccess;
	ncclResult_t result = run_jobs();
	for (uint32_t i = 0; i < group.nr_launches && !result; i++)
		result = run_launch(&group.launches[i]);
	group.nr_jobs = group.nr_launches = 0;
	return result;
}

uint32_t group_depth(void)
{
	return group.depth;
}

uint64_t group_number(void)
{
	return group.depth ? group.number : 0;
}

uint64_t group_start_ns(void)
{
	return group.start_ns;
}
