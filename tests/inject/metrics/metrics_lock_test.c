/* Who goes first has the lock before all others that ask for it. */
#include "inject/metrics/metrics_lock.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 4u
#define ROUNDS  500u

static struct {
	atomic_bool stop;
	_Atomic uint32_t nr_takes;
	bool is_held;
} self;

static void hold(void)
{
	assert_false(self.is_held);
	self.is_held = true;
	sched_yield();
	assert_true(self.is_held);
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

static void who_goes_first_waits_for_few(void **state)
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
	/* The one that has it, and one that is about to. */
	assert_in_range(nr_before, 0, 2 * ROUNDS);
}

static void *take_first(void *context)
{
	assert_true(metrics_lock_take_first());
	atomic_store((atomic_bool *)context, true);
	metrics_lock_release();
	return NULL;
}

static void a_lock_that_is_held_or_waited_for_is_not_tried(void **state)
{
	atomic_bool has_been = false;
	pthread_t thread;

	(void)state;
	assert_true(metrics_lock_try());
	assert_int_equal(pthread_create(&thread, NULL, take_first, &has_been), 0);
	assert_false(metrics_lock_try());
	assert_false(atomic_load(&has_been));
	metrics_lock_release();
	pthread_join(thread, NULL);
	assert_true(has_been);
	assert_true(metrics_lock_try());
	metrics_lock_release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_goes_first_waits_for_few),
		cmocka_unit_test(a_lock_that_is_held_or_waited_for_is_not_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
