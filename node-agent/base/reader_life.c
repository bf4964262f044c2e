#include "reader_life.h"

#include <time.h>

#include "base/clock.h"

#define NS_PER_MS 1000000u
#define NS_PER_S  1000000000u

void reader_life_init(struct reader_life *life)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&life->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&life->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void reader_life_fini(struct reader_life *life)
{
	pthread_mutex_destroy(&life->lock);
	pthread_cond_destroy(&life->changed);
}

bool reader_life_start(struct reader_life *life, void *(*run)(void *reader), void *reader)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (life->is_running || pthread_attr_init(&attributes))
		return life->is_running;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	life->is_running = pthread_create(&thread, &attributes, run, reader) == 0;
	pthread_attr_destroy(&attributes);
	return life->is_running;
}

/* The caller holds the lock. Returns whether the thread has ended. */
static bool await_end(struct reader_life *life, uint32_t wait_ms)
{
	const uint64_t until_ns = clock_now_ns() + (uint64_t)wait_ms * NS_PER_MS;
	const struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
	int error = 0;

	life->is_stopped = true;
	pthread_cond_broadcast(&life->changed);
	while (life->is_running && !error)
		error = pthread_cond_timedwait(&life->changed, &life->lock, &until);
	return !life->is_running;
}

bool reader_life_wait(struct reader_life *life, uint32_t wait_ms)
{
	pthread_mutex_lock(&life->lock);
	const bool has_ended = await_end(life, wait_ms);
	pthread_mutex_unlock(&life->lock);
	return has_ended;
}

bool reader_life_stop(struct reader_life *life, uint32_t wait_ms)
{
	pthread_mutex_lock(&life->lock);
	const bool is_last = await_end(life, wait_ms);
	life->is_left = !is_last;
	pthread_mutex_unlock(&life->lock);
	return is_last;
}

bool reader_life_end(struct reader_life *life)
{
	life->is_running = false;
	const bool is_last = life->is_left;
	pthread_cond_broadcast(&life->changed);
	pthread_mutex_unlock(&life->lock);
	return is_last;
}
