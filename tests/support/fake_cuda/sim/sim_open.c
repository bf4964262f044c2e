#include "sim_open.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "fake_cuda.h"
#include "sim_context.h"

#define PAUSE_NS 50000L

static __thread struct fake_cuda_open *next_open;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	bool started;
	uint64_t nr_wanted; /* times */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER};

static _Atomic uint64_t nr_operations;
static bool something_waits; /* the watching thread's */

void sim_open_put(struct sim_open_queue *queue, struct sim_open *open)
{
	open->number = atomic_fetch_add(&nr_operations, 1) + 1;
	if (queue->last)
		queue->last->next = open;
	else
		queue->first = open;
	queue->last = open;
	queue->nr++;
}

uint64_t sim_open_last(void)
{
	return atomic_load(&nr_operations);
}

struct sim_open *sim_open_take(struct sim_open_queue *queue)
{
	struct sim_open *first = queue->first;

	queue->first = first->next;
	if (!queue->first)
		queue->last = NULL;
	queue->nr--;
	return first;
}

void fake_cuda_open_next(struct fake_cuda_open *open)
{
	next_open = open;
}

struct fake_cuda_open *sim_open_next(void)
{
	struct fake_cuda_open *open = next_open;

	next_open = NULL;
	return open;
}

void sim_open_pause(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static void look(struct sim_context *context)
{
	something_waits |= sim_context_settle(context);
}

static void *run(void *unused)
{
	uint64_t seen = 0;

	for (;;) {
		pthread_mutex_lock(&watch.lock);
		while (seen == watch.nr_wanted)
			pthread_cond_wait(&watch.wanted, &watch.lock);
		seen = watch.nr_wanted;
		pthread_mutex_unlock(&watch.lock);
		do {
			sim_open_pause();
			something_waits = false;
			sim_context_each(look);
		} while (something_waits);
	}
	return unused;
}

/* As a library's thread should, it takes none of the application's signals. */
static void start(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	watch.started = true;
}

void sim_open_watch(void)
{
	pthread_mutex_lock(&watch.lock);
	if (!watch.started)
		start();
	watch.nr_wanted++;
	pthread_cond_signal(&watch.wanted);
	pthread_mutex_unlock(&watch.lock);
}
