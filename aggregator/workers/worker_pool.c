#include "worker_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/batch/batch_decode.h"

struct task_list {
	struct worker_task *first, *last;
};

struct worker {
	struct worker_pool *pool;
	struct batch_decoder *decoder; /* owns */
	pthread_t thread;
};

struct worker_pool {
	struct worker
		workers[WORKER_POOL_MAX]; /* without threads the first one's decoder is used */
	uint32_t nr_threads;
	uint64_t nr_tasks; /* whose done() has not been called */
	int wake_fd;
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t wake, ended;
	struct task_list waiting, ready;
	bool stopped;
};

static void push(struct task_list *list, struct worker_task *task)
{
	task->next = NULL;
	if (list->last)
		list->last->next = task;
	else
		list->first = task;
	list->last = task;
}

static struct worker_task *pop(struct task_list *list)
{
	struct worker_task *task = list->first;

	if (task)
		list->first = task->next;
	if (!list->first)
		list->last = NULL;
	return task;
}

uint32_t worker_pool_threads(void)
{
	cpu_set_t cpus;
	const int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 0;

	if (count < (int)WORKER_POOL_MIN)
		return WORKER_POOL_MIN;
	return count < (int)WORKER_POOL_MAX ? (uint32_t)count : WORKER_POOL_MAX;
}

/* ---- the threads */

/* Waits for a task. NULL: the thread is to end. */
static struct worker_task *take(struct worker_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (!pool->stopped && !pool->waiting.first)
		pthread_cond_wait(&pool->wake, &pool->lock);
	struct worker_task *task = pool->stopped ? NULL : pop(&pool->waiting);
	pthread_mutex_unlock(&pool->lock);
	return task;
}

static void finish(struct worker_pool *pool, struct worker_task *task)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&pool->lock);
	const bool is_first = !pool->ready.first;
	push(&pool->ready, task);
	pthread_cond_signal(&pool->ended);
	pthread_mutex_unlock(&pool->lock);
	if (is_first && write(pool->wake_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* the counter is full, so the owner is awake */
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct worker_task *task;

	while ((task = take(worker->pool)) != NULL) {
		task->run(task, worker->decoder);
		finish(worker->pool, task);
	}
	return NULL;
}

/* ---- the owner */

static int start(struct worker_pool *pool, uint32_t nr_threads)
{
	const uint32_t nr_workers = nr_threads ? nr_threads : 1;

	for (uint32_t i = 0; i < nr_workers; i++) {
		struct worker *worker = &pool->workers[i];

		worker->pool = pool;
		worker->decoder = batch_decoder_create();
		if (!worker->decoder)
			return -ENOMEM;
		int error = nr_threads ? pthread_create(&worker->thread, NULL, run, worker) : 0;
		if (error)
			return -error;
		pool->nr_threads += nr_threads != 0;
	}
	return 0;
}

int worker_pool_start(uint32_t nr_threads, int wake_fd, struct worker_pool **pool)
{
	struct worker_pool *new_pool = calloc(1, sizeof(*new_pool));

	assert(nr_threads <= WORKER_POOL_MAX);
	*pool = NULL;
	if (!new_pool)
		return -ENOMEM;
	new_pool->wake_fd = wake_fd;
	pthread_mutex_init(&new_pool->lock, NULL);
	pthread_cond_init(&new_pool->wake, NULL);
	pthread_cond_init(&new_pool->ended, NULL);
	int error = start(new_pool, nr_threads);
	if (error)
		worker_pool_stop(new_pool);
	else
		*pool = new_pool;
	return error;
}

void worker_pool_stop(struct worker_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopped = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < pool->nr_threads; i++)
		pthread_join(pool->workers[i].thread, NULL);
	for (uint32_t i = 0; i < WORKER_POOL_MAX; i++)
		batch_decoder_destroy(pool->workers[i].decoder);
	pthread_cond_destroy(&pool->ended);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

bool worker_pool_is_inline(const struct worker_pool *pool)
{
	return pool->nr_threads == 0;
}

void worker_pool_give(struct worker_pool *pool, struct worker_task *task)
{
	pool->nr_tasks++;
	if (worker_pool_is_inline(pool))
		task->run(task, pool->workers[0].decoder);
	pthread_mutex_lock(&pool->lock);
	push(worker_pool_is_inline(pool) ? &pool->ready : &pool->waiting, task);
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

void worker_pool_step(struct worker_pool *pool)
{
	for (;;) {
		pthread_mutex_lock(&pool->lock);
		struct worker_task *task = pop(&pool->ready);
		pthread_mutex_unlock(&pool->lock);
		if (!task)
			return;
		pool->nr_tasks--;
		task->done(task);
	}
}

bool worker_pool_has_done(struct worker_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	const bool has_done = pool->ready.first;
	pthread_mutex_unlock(&pool->lock);
	return has_done;
}

bool worker_pool_wait(struct worker_pool *pool)
{
	if (pool->nr_tasks == 0)
		return false;
	pthread_mutex_lock(&pool->lock);
	while (!pool->ready.first)
		pthread_cond_wait(&pool->ended, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	worker_pool_step(pool);
	return true;
}
