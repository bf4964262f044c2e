#include "report/watch/watch_onset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void the_onset_is_where_values_become_larger(void **state)
{
	static const double values[] = {0.1, -0.2, 0.3, 0, 5, 6, 4, 5};

	(void)state;
	assert_int_equal(watch_onset_find(values, COUNT(values)), 4);
	assert_int_equal(watch_onset_find(values + 3, COUNT(values) - 3), 1);
}

static void values_that_are_always_large_begin_with_the_first(void **state)
{
	static const double values[] = {5, 4, 6, 5, 6, 7, 5, 6};

	(void)state;
	assert_int_equal(watch_onset_find(values, COUNT(values)), 0);
}

static void values_that_become_smaller_begin_with_the_first(void **state)
{
	static const double values[] = {5, 5, 5, 0, 0, 0};

	(void)state;
	assert_int_equal(watch_onset_find(values, COUNT(values)), 0);
}

static void one_peak_before_is_not_the_onset(void **state)
{
	static const double values[] = {0, 4, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5};

	(void)state;
	assert_int_equal(watch_onset_find(values, COUNT(values)), 6);
}

static void the_last_of_some_peaks_is_not_the_onset(void **state)
{
	double values[51] = {0};

	(void)state;
	for (uint32_t i = 0; i < COUNT(values); i += 10)
		values[i] = 5;
	assert_int_equal(watch_onset_find(values, COUNT(values)), 0);
}

static void no_and_one_value_have_no_onset(void **state)
{
	static const double values[] = {5};

	(void)state;
	assert_int_equal(watch_onset_find(values, 0), 0);
	assert_int_equal(watch_onset_find(values, 1), 0);
}

static uint32_t over(const double *values, uint32_t count, uint32_t onset)
{
	double sorted[64];

	return watch_onset_over(values, count, onset, sorted);
}

static void the_end_is_where_values_become_smaller(void **state)
{
	static const double values[] = {0, 0, 5, 6, 4, 0.1, -0.2, 0.3, 0};

	(void)state;
	assert_int_equal(over(values, COUNT(values), 2), 5);
	assert_int_equal(over(values, 5, 2), 5);
}

static void what_is_left_of_a_lateness_is_over(void **state)
{
	static const double values[] = {5,   6, 0.4, 0, 0.2, 0.5, 0, -0.3,
					0.1, 0, 0,   0, 0.3, 0,   0, 0};

	(void)state;
	assert_int_equal(over(values, COUNT(values), 0), 2);
	assert_int_equal(over(values + 1, COUNT(values) - 1, 0), 1);
	assert_int_equal(over(values, 0, 0), 0);
}

static void who_is_late_now_and_then_is_so_until_its_last_peak(void **state)
{
	double values[50] = {0};

	(void)state;
	for (uint32_t i = 0; i < COUNT(values); i += 10)
		values[i] = 5;
	assert_int_equal(over(values, 44, 0), 44);
	assert_int_equal(over(values, COUNT(values), 0), 41);
}

static void a_stall_does_not_hide_lateness(void **state)
{
	double values[50] = {0};

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		values[i] = i == 3 ? 200 : 5;
	assert_int_equal(over(values, COUNT(values), 0), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_onset_is_where_values_become_larger),
		cmocka_unit_test(values_that_are_always_large_begin_with_the_first),
		cmocka_unit_test(values_that_become_smaller_begin_with_the_first),
		cmocka_unit_test(one_peak_before_is_not_the_onset),
		cmocka_unit_test(the_last_of_some_peaks_is_not_the_onset),
		cmocka_unit_test(no_and_one_value_have_no_onset),
		cmocka_unit_test(the_end_is_where_values_become_smaller),
		cmocka_unit_test(what_is_left_of_a_lateness_is_over),
		cmocka_unit_test(who_is_late_now_and_then_is_so_until_its_last_peak),
		cmocka_unit_test(a_stall_does_not_hide_lateness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
