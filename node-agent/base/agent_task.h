/* Work that may take long, which a worker thread does so that the agent's loop need not wait. */
#ifndef AGENT_TASK_H
#define AGENT_TASK_H

#include <stdbool.h>
#include <sys/types.h>

struct agent_task {
	/* Does the work, in the worker's thread. With wanted false it does nothing, because the worker ends first. Each
	 * task that was taken gets one call, and the worker does not touch the task after it. */
	void (*run)(struct agent_task *task, bool wanted);
};

/* Takes a task of this user, for whichever thread. 0, or -ENOMEM: there will be no call. */
typedef int agent_task_give(void *context, uid_t user, struct agent_task *task);

#endif
