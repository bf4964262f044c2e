/* A thread that goes first has the lock before all others that ask for it. pthread_mutex_timedlock() is wrapped. */
#include "inject/metrics/metrics_lock.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 4u
#define ROUNDS  500u

static struct {
	atomic_bool stop, is_wrong;
	_Atomic uint32_t nr_takes;
	bool is_held, was_tried;
	bool tries; /* at the next pthread_mutex_timedlock(), which is the test's own */
	atomic_bool is_overtaken, waits; /* by a thread, which waits */
	pthread_t overtakes, asks;
	struct timespec until[2];
	uint32_t nr_asked;
} self;

int __real_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);

static void *overtake(void *context)
{
	(void)context;
	if (metrics_lock_take_first())
		metrics_lock_release();
	return NULL;
}

/* Once it has the lock for the first time, another thread waits for it that goes first. */
static int take_and_be_overtaken(pthread_mutex_t *mutex, const struct timespec *until)
{
	if (!pthread_equal(pthread_self(), self.asks)) {
		atomic_store(&self.waits, true);
		return __real_pthread_mutex_timedlock(mutex, until);
	}
	const int result = __real_pthread_mutex_timedlock(mutex, until);

	self.until[self.nr_asked++ % 2] = *until;
	if (self.nr_asked == 1) {
		assert_int_equal(pthread_create(&self.overtakes, NULL, overtake, NULL), 0);
		while (!atomic_load(&self.waits))
			sched_yield();
	}
	return result;
}

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	if (self.tries) {
		self.tries = false;
		self.was_tried = metrics_lock_try();
	}
	if (!atomic_load(&self.is_overtaken))
		return __real_pthread_mutex_timedlock(mutex, until);
	return take_and_be_overtaken(mutex, until);
}

/* The lock is held. */
static void hold(void)
{
	if (self.is_held)
		atomic_store(&self.is_wrong, true);
	self.is_held = true;
	sched_yield();
	self.is_held = false;
}

static void *take_on_and_on(void *context)
{
	(void)context;
	while (!atomic_load(&self.stop)) {
		if (!metrics_lock_take(METRICS_LOCK_CALLBACK_S))
			continue;
		hold();
		atomic_fetch_add(&self.nr_takes, 1);
		metrics_lock_release();
	}
	return NULL;
}

static void a_thread_that_goes_first_waits_for_few(void **state)
{
	pthread_t threads[THREADS];
	uint32_t nr_before = 0;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_on_and_on, NULL), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t nr_takes = atomic_load(&self.nr_takes);

		assert_true(metrics_lock_take_first());
		nr_before += atomic_load(&self.nr_takes) - nr_takes;
		hold();
		metrics_lock_release();
		sched_yield();
	}
	atomic_store(&self.stop, true);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_false(self.is_wrong);
	/* The one that has it, and one that is about to. */
	assert_in_range(nr_before, 0, 2 * ROUNDS);
}

static void *try(void *context)
{
	*(bool *)context = metrics_lock_try();
	return NULL;
}

static void a_lock_that_is_held_is_not_tried(void **state)
{
	pthread_t thread;
	bool is_taken = true;

	(void)state;
	assert_true(metrics_lock_try());
	assert_int_equal(pthread_create(&thread, NULL, try, &is_taken), 0);
	pthread_join(thread, NULL);
	assert_false(is_taken);
	metrics_lock_release();
	assert_true(metrics_lock_try());
	metrics_lock_release();
}

static void a_lock_that_is_waited_for_is_not_tried(void **state)
{
	(void)state;
	self.tries = self.was_tried = true;
	assert_true(metrics_lock_take_first());
	assert_false(self.tries || self.was_tried);
	metrics_lock_release();
	assert_true(metrics_lock_try());
	metrics_lock_release();
}

static void who_is_overtaken_waits_no_longer(void **state)
{
	(void)state;
	self.asks = pthread_self();
	atomic_store(&self.is_overtaken, true);
	assert_true(metrics_lock_take(METRICS_LOCK_CALLBACK_S));
	metrics_lock_release();
	pthread_join(self.overtakes, NULL);
	atomic_store(&self.is_overtaken, false);
	assert_in_range(self.nr_asked, 2, UINT32_MAX);
	assert_memory_equal(&self.until[0], &self.until[1], sizeof(self.until[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_goes_first_waits_for_few),
		cmocka_unit_test(a_lock_that_is_held_is_not_tried),
		cmocka_unit_test(a_lock_that_is_waited_for_is_not_tried),
		cmocka_unit_test(who_is_overtaken_waits_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
