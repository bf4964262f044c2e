#include "metrics_lock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "device_counters.h"
#include "device_launches.h"
#include "idle_context.h"

#include "inject/base/monotonic.h"
#include "inject/base/nap.h"

#define WAIT_TURNS    3u
#define WAIT_PARTS    128u    /* pauses of a wait are such parts of it, */
#define WAIT_LEAST_NS 50000   /* but none below this, */
#define WAIT_MOST_NS  1000000 /* and none above */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t nr_first; /* threads that wait for it and go before all others */

bool metrics_lock_try(void)
{
	return !atomic_load(&nr_first) && pthread_mutex_trylock(&lock) == 0;
}

static struct timespec after(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return until;
}

static bool is_over(const struct timespec *until)
{
	const struct timespec now = after(0);

	return now.tv_sec > until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

bool metrics_lock_take(time_t seconds)
{
	const struct timespec until = after(seconds);

	while (pthread_mutex_timedlock(&lock, &until) == 0) {
		if (!atomic_load(&nr_first) || is_over(&until))
			return true;
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return false;
}

bool metrics_lock_take_first(void)
{
	const struct timespec until = after(METRICS_LOCK_FIRST_S);

	atomic_fetch_add(&nr_first, 1);
	const bool is_taken = pthread_mutex_timedlock(&lock, &until) == 0;
	atomic_fetch_sub(&nr_first, 1);
	return is_taken;
}

void metrics_lock_release(void)
{
	pthread_mutex_unlock(&lock);
}

/* What goes by until the end is seen is counted, too, so a wait has pauses only once it is long. */
static void pause_since(uint64_t start_ns)
{
	const uint64_t pause_ns = (monotonic_ns() - start_ns) / WAIT_PARTS;
	if (pause_ns >= WAIT_LEAST_NS)
		nap(pause_ns < WAIT_MOST_NS ? (long)pause_ns : WAIT_MOST_NS);
	else
		sched_yield();
}

bool metrics_lock_wait(const struct metrics_lock_wait *wait)
{
	const uint32_t device_id = device_counters_number(wait->counters);
	const uint64_t start_ns = monotonic_ns();

	if (!idle_context_mark(device_id, wait->counters->context))
		return true;
	while (idle_context_state(device_id) == IDLE_CONTEXT_WORKS) {
		pthread_mutex_unlock(&lock);
		pause_since(start_ns);
		while (!metrics_lock_take(METRICS_LOCK_FIRST_S))
			;
		if (!wait->goes_on(wait->id))
			return false;
	}
	return true;
}

bool metrics_lock_wait_for_all(const struct metrics_lock_wait *wait)
{
	const uint32_t device_id = device_counters_number(wait->counters);
	uint64_t nr_launches;
	uint32_t turn = 0;

	do {
		nr_launches = device_launches_count(device_id);
		if (!metrics_lock_wait(wait))
			return false;
	} while (nr_launches != device_launches_count(device_id) && ++turn < WAIT_TURNS);
	return true;
}
