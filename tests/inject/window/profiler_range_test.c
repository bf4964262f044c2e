#include "inject/window/profiler_range.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "inject/base/lifecycle.h"
#include "inject/window/capture_window.h"

#define THREADS 4
#define ROUNDS  2000

static atomic_int nr_open, nr_changes;

void __wrap_capture_window_range(bool open);
void __wrap_capture_window_range(bool open)
{
	atomic_fetch_add(&nr_open, open ? 1 : -1);
	atomic_fetch_add(&nr_changes, 1);
}

static void before_it_is_on_nothing_opens(void **state)
{
	(void)state;
	profiler_range_start();
	profiler_range_stop();
	assert_int_equal(nr_changes, 0);
}

static void each_start_has_its_stop(void **state)
{
	(void)state;
	profiler_range_on(0);
	profiler_range_stop(); /* of nothing: it must not swallow the next start */
	profiler_range_start();
	profiler_range_start();
	assert_int_equal(nr_open, 2);
	profiler_range_stop();
	profiler_range_stop();
	profiler_range_stop();
	assert_int_equal(nr_open, 0);
	assert_int_equal(nr_changes, 4);
	assert_int_equal(profiler_range_starts(), 0); /* counted for steps alone */
}

static void *take_ranges(void *nothing)
{
	for (int i = 0; i < ROUNDS; i++) {
		profiler_range_start();
		profiler_range_stop();
	}
	return nothing;
}

static void several_threads_leave_nothing_open(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&nr_changes, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_ranges, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(nr_open, 0);
	assert_int_equal(nr_changes, 2 * THREADS * ROUNDS);
}

static void one_step_in_so_many_opens(void **state)
{
	(void)state;
	profiler_range_on(3);
	profiler_range_on(3);
	atomic_store(&nr_changes, 0);
	for (int number = 1; number <= 7; number++) {
		profiler_range_start();
		assert_int_equal(nr_open, number % 3 == 0);
		profiler_range_stop();
		assert_int_equal(nr_open, 0);
	}
	assert_int_equal(nr_changes, 4);
	assert_int_equal(profiler_range_starts(), 7);
}

static void a_forked_child_opens_nothing(void **state)
{
	(void)state;
	profiler_range_on(0);
	atomic_store(&nr_changes, 0);
	atomic_store(&lifecycle_word, LIFECYCLE_FORKED);
	profiler_range_start();
	profiler_range_stop();
	atomic_store(&lifecycle_word, LIFECYCLE_OFF);
	assert_int_equal(nr_changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_it_is_on_nothing_opens),
		cmocka_unit_test(each_start_has_its_stop),
		cmocka_unit_test(several_threads_leave_nothing_open),
		cmocka_unit_test(one_step_in_so_many_opens),
		cmocka_unit_test(a_forked_child_opens_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
