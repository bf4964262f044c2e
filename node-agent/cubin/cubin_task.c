#include "cubin_task.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cubin_cache.h"

enum state {
	QUEUED,  /* the worker has the task, and will begin */
	RUNNING, /* the worker makes the table */
	DONE,    /* the loop has it */
	LEFT,    /* the worker has it, and frees it */
};

struct cubin_task {
	struct agent_task task;    /* first: the worker knows only this */
	struct cubin_cache *cache; /* holds it */
	uint8_t *bytes; /* owned by the side that has the task, until the table is made */
	size_t size;
	uint32_t lines;
	int error;
	atomic_int state;
};

static void destroy(struct cubin_task *task)
{
	if (task->lines)
		cubin_cache_put(task->cache, task->lines);
	cubin_cache_destroy(task->cache);
	free(task);
}

static bool change(struct cubin_task *task, int from, int to)
{
	return atomic_compare_exchange_strong(&task->state, &from, to);
}

static void run(struct agent_task *agent_task, bool wanted)
{
	struct cubin_task *task = (struct cubin_task *)agent_task;

	if (!change(task, QUEUED, RUNNING)) {
		destroy(task); /* the loop has freed the bytes */
		return;
	}
	task->error = wanted ? cubin_cache_get(task->cache, task->bytes, task->size, &task->lines)
			     : -ECANCELED;
	free(task->bytes);
	if (!change(task, RUNNING, DONE))
		destroy(task);
}

int cubin_task_begin(struct cubin_cache *cache, uid_t user, uint8_t *bytes, size_t size,
		     struct cubin_task **task)
{
	const struct cubin_worker *worker = cubin_cache_worker(cache);
	struct cubin_task *new_task = calloc(1, sizeof(*new_task));

	*task = NULL;
	if (!new_task) {
		free(bytes);
		return -ENOMEM;
	}
	cubin_cache_hold(cache);
	new_task->task.run = run;
	new_task->cache = cache;
	new_task->bytes = bytes;
	new_task->size = size;
	if (!worker) {
		run(&new_task->task, true);
	} else if (worker->give(worker->context, user, &new_task->task)) {
		free(bytes);
		destroy(new_task);
		return -ENOMEM;
	}
	*task = new_task;
	return 0;
}

bool cubin_task_is_done(const struct cubin_task *task)
{
	return atomic_load(&task->state) == DONE;
}

int cubin_task_end(struct cubin_task *task, uint32_t *lines)
{
	int error = task->error;

	*lines = task->lines;
	task->lines = 0;
	destroy(task);
	return error;
}

void cubin_task_leave(struct cubin_task *task)
{
	uint8_t *bytes = task->bytes;

	if (change(task, QUEUED, LEFT))
		free(bytes);
	else if (!change(task, RUNNING, LEFT))
		destroy(task);
}
