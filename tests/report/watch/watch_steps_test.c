#include "report/watch/watch_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIMES 60u

/* Returns how many times are a step, of a pattern that comes again. */
static uint32_t step_of(const double *pattern, uint32_t length, uint32_t count)
{
	double times_ns[TIMES], sorted[TIMES];
	uint32_t distances[TIMES + 1];

	for (uint32_t i = 0; i < count; i++)
		times_ns[i] = pattern[i % length] * (1 + 0.01 * (i % 7));
	return watch_steps_of_times(times_ns, count, sorted, distances);
}

static void equal_times_are_a_step_each(void **state)
{
	static const double alike[] = {10};

	(void)state;
	assert_int_equal(step_of(alike, 1, TIMES), 1);
	assert_int_equal(step_of(alike, 1, 1), 1);
	assert_int_equal(step_of(alike, 1, 0), 1);
}

static void a_long_time_among_short_ones_ends_a_step(void **state)
{
	static const double four[] = {1, 1, 1, 7}, buckets[] = {9, 1, 1, 1, 1};

	(void)state;
	assert_int_equal(step_of(four, 4, TIMES), 4);
	assert_int_equal(step_of(buckets, 5, TIMES), 5);
	assert_int_equal(step_of(buckets, 5, 16), 5);
}

/* Forward and backward: each has a long time, at distances of two and three. */
static void two_long_times_can_be_in_one_step(void **state)
{
	static const double both[] = {8, 1, 7, 1, 1};

	(void)state;
	assert_int_equal(step_of(both, 5, TIMES), 5);
}

/* A pause in each tenth step is no end of a step of ten. */
static void long_times_that_are_a_small_part_are_pauses(void **state)
{
	static const double pauses[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 30};

	(void)state;
	assert_int_equal(step_of(pauses, 10, TIMES), 1);
}

static void a_step_must_come_three_times(void **state)
{
	static const double four[] = {1, 1, 1, 7};

	(void)state;
	assert_int_equal(step_of(four, 4, 12), 1);
	assert_int_equal(step_of(four, 4, 16), 4);
}

/* A short time more in the newest step, or in one before, is no longer step. */
static void one_uneven_step_is_no_measure(void **state)
{
	double times_ns[TIMES + 1], sorted[TIMES + 1];
	uint32_t distances[TIMES + 2];

	(void)state;
	for (uint32_t more = 2; more < TIMES; more += 4) {
		for (uint32_t i = 0; i <= TIMES; i++)
			times_ns[i] = (i < more ? i : i - 1) % 4 == 3 && i != more ? 7 : 1;
		assert_int_equal(watch_steps_of_times(times_ns, TIMES + 1, sorted, distances), 4);
	}
}

static void long_times_at_different_distances_are_no_steps(void **state)
{
	static const double uneven[] = {9, 1, 9, 1, 1, 1, 9, 9, 1, 1, 9, 1, 1, 1, 1, 9, 1, 9, 9, 9,
					1, 1, 1, 1, 1, 9, 1, 9, 1, 9, 9, 1, 1, 9, 1, 1, 1, 9, 1, 9};

	(void)state;
	assert_int_equal(step_of(uneven, 40, 40), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_times_are_a_step_each),
		cmocka_unit_test(a_long_time_among_short_ones_ends_a_step),
		cmocka_unit_test(two_long_times_can_be_in_one_step),
		cmocka_unit_test(long_times_that_are_a_small_part_are_pauses),
		cmocka_unit_test(a_step_must_come_three_times),
		cmocka_unit_test(one_uneven_step_is_no_measure),
		cmocka_unit_test(long_times_at_different_distances_are_no_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
