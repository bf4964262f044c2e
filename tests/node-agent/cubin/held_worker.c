#include "held_worker.h"

#include <errno.h>
#include <stddef.h>

int held_worker_give(void *context, uid_t user, struct agent_task *task)
{
	struct held_worker *worker = context;

	if (worker->fails || worker->end - worker->begin == HELD_WORKER_TASKS)
		return -ENOMEM;
	worker->tasks[worker->end++ % HELD_WORKER_TASKS] = task;
	worker->user = user;
	return 0;
}

struct agent_task *held_worker_take(struct held_worker *worker)
{
	return worker->begin == worker->end ? NULL
					    : worker->tasks[worker->begin++ % HELD_WORKER_TASKS];
}

uint32_t held_worker_run(struct held_worker *worker)
{
	struct agent_task *task;
	uint32_t count = 0;

	for (; (task = held_worker_take(worker)); count++)
		task->run(task, true);
	return count;
}
