/* The gate that holds launches: nobody waits at it for ever. At each look the clock goes on by a step. */
#include "inject/sampling/launch_gate.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/lifecycle.h"

#define THREADS 4
#define ROUNDS  2000

static _Atomic uint64_t now_ns, step_ns;
static atomic_uint nr_within;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const uint64_t ns = atomic_fetch_add(&now_ns, atomic_load(&step_ns));

	(void)clock;
	*now = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	return 0;
}

static void run(void *(*function)(void *), void *context)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, context), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Closes the gate in vain, and launches at a closed one, with a cancellation pending. */
static void *close_cancelled(void *survived)
{
	pthread_cancel(pthread_self());
	*(bool *)survived = !launch_gate_close();
	return NULL;
}

static void *launch_cancelled(void *survived)
{
	pthread_cancel(pthread_self());
	launch_gate_enter();
	*(bool *)survived = true;
	launch_gate_exit();
	return NULL;
}

static void closing_is_no_cancellation_point(void **state)
{
	bool survived = false;

	(void)state;
	launch_gate_enter();
	run(close_cancelled, &survived);
	assert_true(survived);
	launch_gate_exit();
	assert_true(launch_gate_close());
	launch_gate_open();
}

static void *launch(void *context)
{
	for (int i = 0; i < ROUNDS; i++) {
		launch_gate_enter();
		atomic_fetch_add(&nr_within, 1);
		atomic_fetch_sub(&nr_within, 1);
		launch_gate_exit();
	}
	return context;
}

static void *close_and_open(void *wrong)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (!launch_gate_close())
			continue;
		if (atomic_load(&nr_within) && !launch_gate_is_broken())
			*(atomic_bool *)wrong = true;
		launch_gate_open();
	}
	return NULL;
}

static void no_launch_is_under_way_while_it_is_closed(void **state)
{
	pthread_t threads[2 * THREADS];
	atomic_bool wrong = false;

	(void)state;
	atomic_store(&step_ns, 0); /* nobody is late */
	for (int i = 0; i < 2 * THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, i % 2 ? launch : close_and_open, &wrong),
			0);
	for (int i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_false(wrong);
	assert_int_equal(launch_gate_within(), 0);
}

/* Nothing mends a gate, so that each test which breaks it is a process of its own. */
static void breaks_it(void *(*function)(void *))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		bool survived = false;
		pthread_t thread;

		atomic_store(&lifecycle_word, LIFECYCLE_ON);
		const bool was_whole = launch_gate_close() && !launch_gate_is_broken();
		pthread_create(&thread, NULL, function, &survived);
		pthread_join(thread, NULL);
		const bool is_broken = launch_gate_is_broken();
		launch_gate_open();
		_exit(was_whole && survived && is_broken && !launch_gate_close() ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_gate_that_another_thread_keeps_closed_breaks(void **state)
{
	(void)state;
	breaks_it(close_cancelled);
}

static void a_gate_that_holds_a_launch_for_long_breaks(void **state)
{
	(void)state;
	breaks_it(launch_cancelled);
}

static int set_up(void **state)
{
	(void)state;
	atomic_store(&step_ns, 10000000);
	atomic_store(&lifecycle_word, LIFECYCLE_ON);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(closing_is_no_cancellation_point, set_up),
		cmocka_unit_test_setup(no_launch_is_under_way_while_it_is_closed, set_up),
		cmocka_unit_test_setup(a_gate_that_another_thread_keeps_closed_breaks, set_up),
		cmocka_unit_test_setup(a_gate_that_holds_a_launch_for_long_breaks, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
