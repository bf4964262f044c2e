#include "inject/window/window_steps.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS  5000

static void one_step_in_every_so_many_is_captured(void **state)
{
	struct window_steps steps = {.every = 5};

	(void)state;
	for (int number = 1; number <= 20; number++) {
		assert_int_equal(window_steps_begin(&steps), number % 5 == 0);
		assert_int_equal(window_steps_end(&steps), number % 5 == 0);
	}
}

static void without_a_number_all_are(void **state)
{
	struct window_steps steps = {0};

	(void)state;
	for (int number = 1; number <= 3; number++) {
		assert_true(window_steps_begin(&steps));
		assert_true(window_steps_end(&steps));
		assert_true(window_steps_start(&steps));
		assert_true(window_steps_start(&steps));
		assert_true(window_steps_stop(&steps));
	}
}

/* An end that is told late, after the next beginning, is still that of its own step. */
static void ends_belong_to_their_beginnings_in_any_order(void **state)
{
	struct window_steps steps = {.every = 2};

	(void)state;
	assert_false(window_steps_begin(&steps)); /* 1 */
	assert_true(window_steps_begin(&steps));  /* 2 */
	assert_false(window_steps_end(&steps));   /* 1 */
	assert_false(window_steps_begin(&steps)); /* 3 */
	assert_true(window_steps_end(&steps));    /* 2 */
	assert_false(window_steps_end(&steps));   /* 3 */
}

static void a_start_within_a_captured_step_is_none(void **state)
{
	struct window_steps steps = {.every = 3};

	(void)state;
	assert_false(window_steps_start(&steps));
	assert_false(window_steps_stop(&steps));
	assert_false(window_steps_start(&steps)); /* the stop before it was not told */
	assert_true(window_steps_start(&steps));
	assert_false(window_steps_start(&steps));
	assert_true(window_steps_stop(&steps));
	assert_false(window_steps_stop(&steps));
	assert_false(window_steps_start(&steps)); /* 4 */
	assert_false(window_steps_start(&steps));
	assert_true(window_steps_start(&steps));
}

static struct window_steps shared = {.every = 7};
static _Atomic int nr_open;

static void *take_steps(void *nothing)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (window_steps_begin(&shared))
			atomic_fetch_add(&nr_open, 1);
		if (window_steps_end(&shared))
			atomic_fetch_sub(&nr_open, 1);
	}
	return nothing;
}

static void whatever_threads_do_nothing_stays_open(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_steps, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(nr_open, 0);
	assert_int_equal(shared.nr_begun, THREADS * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_step_in_every_so_many_is_captured),
		cmocka_unit_test(without_a_number_all_are),
		cmocka_unit_test(ends_belong_to_their_beginnings_in_any_order),
		cmocka_unit_test(a_start_within_a_captured_step_is_none),
		cmocka_unit_test(whatever_threads_do_nothing_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
