#include "group.h"

#include <pthread.h>
#include <stdlib.h>

#include "plan.h"
#include "truth.h"

#define JOBS_MAX 64u

static _Thread_local struct {
	uint32_t depth, nr_jobs, nr_tasks;
	uint64_t nr_groups, number, start_ns;
	struct group_job jobs[JOBS_MAX];
	struct profiler_task *tasks; /* owns; PLAN_TASKS_MAX, until the group ends */
} group;

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

/* All plans, in the order in which their communicators first came. */
static ncclResult_t run_plans(void)
{
	struct profiler_task *own = malloc((group.nr_tasks + 1) * sizeof(*own));
	ncclResult_t result = own ? ncclSuccess : ncclSystemError;

	for (uint32_t i = 0; i < group.nr_tasks && !result; i++) {
		struct ncclComm *comm = group.tasks[i].comm;
		uint32_t nr = 0;

		for (uint32_t j = i; comm && j < group.nr_tasks; j++) {
			if (group.tasks[j].comm != comm)
				continue;
			own[nr++] = group.tasks[j];
			group.tasks[j].comm = NULL;
		}
		if (nr)
			result = plan_run(comm, own, nr);
	}
	free(own);
	group.nr_tasks = 0;
	return result;
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

static struct profiler_task *room(void)
{
	if (!group.tasks)
		group.tasks = malloc(PLAN_TASKS_MAX * sizeof(*group.tasks));
	return group.tasks;
}

static ncclResult_t end_tasks(ncclResult_t result)
{
	profiler_group_ends();
	if (!result)
		result = run_plans();
	group.nr_tasks = 0;
	free(group.tasks);
	group.tasks = NULL;
	profiler_group_is_over();
	return result;
}

ncclResult_t group_launch(const struct profiler_task *call)
{
	enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
	struct profiler_task ordered = *call;

	if (!room())
		return ncclSystemError;
	cudaStreamIsCapturing(call->stream, &capturing);
	ordered.captured = capturing == cudaStreamCaptureStatusActive;
	ordered.order = group.nr_tasks;
	uint32_t left = PLAN_TASKS_MAX - group.nr_tasks;
	uint32_t nr = plan_append(&ordered, group.tasks + group.nr_tasks, left);
	if (nr > left)
		return ncclInternalError;
	for (uint32_t i = 0; i < nr; i++)
		group.tasks[group.nr_tasks + i].order = group.nr_tasks + i;
	group.nr_tasks += nr;
	return group.depth == 0 ? end_tasks(ncclSuccess) : ncclSuccess;
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
	group.nr_jobs = 0;
	return end_tasks(result);
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
