/* A plan: the tasks of one communicator in one group, which one kernel does; launched and posted on the thread that
 * ends the group. */
#ifndef PLAN_H
#define PLAN_H

#include <stdint.h>

#include "comm.h"
#include "profiler.h"

#define PLAN_TASKS_MAX 4096u

/* A call becomes tasks, of which there is room for max: all_to_all, gather and scatter are sends and receives. Returns
 * their number; above max: no room. */
uint32_t plan_append(const struct profiler_task *call, struct profiler_task *tasks, uint32_t max);

/* All of one communicator. They are put into the plan's order: collectives before sends and receives, those of more
 * bytes before others. */
ncclResult_t plan_run(struct ncclComm *comm, struct profiler_task *tasks, uint32_t nr_tasks);

#endif
