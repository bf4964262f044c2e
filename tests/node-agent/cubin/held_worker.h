/* A worker of tests, which keeps its tasks until the test lets it do them. One thread at a time, or under a lock. */
#ifndef HELD_WORKER_H
#define HELD_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node-agent/base/agent_task.h"

#define HELD_WORKER_TASKS 1024u

/* Embedded; zeroed memory has no tasks. */
struct held_worker {
	struct agent_task *tasks[HELD_WORKER_TASKS];
	uint32_t begin, end; /* tasks that wait */
	uid_t user;          /* of the last one */
	bool fails;          /* takes no more */
};

/* agent_task_give(); the context is the worker. */
int held_worker_give(void *context, uid_t user, struct agent_task *task);

/* Returns the oldest task, which waits no more; NULL: none waits. */
struct agent_task *held_worker_take(struct held_worker *worker);

/* Does all tasks that wait, and returns their number. */
uint32_t held_worker_run(struct held_worker *worker);

#endif
