#include "report/names/call_period.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void one_kind_makes_steps_of_one(void **state)
{
	static const uint32_t kinds[] = {7, 7, 7, 7};

	(void)state;
	assert_int_equal(call_period_find(kinds, COUNT(kinds)), 1);
}

static void a_pattern_that_comes_again_is_a_step(void **state)
{
	static const uint32_t kinds[] = {1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2};

	(void)state;
	assert_int_equal(call_period_find(kinds, COUNT(kinds)), 3);
	assert_int_equal(call_period_find(kinds + 1, COUNT(kinds) - 1), 3);
}

static void it_must_be_there_three_times(void **state)
{
	static const uint32_t kinds[] = {1, 2, 3, 1, 2, 3, 1, 2, 3};

	(void)state;
	assert_int_equal(call_period_find(kinds, 8), 0);
	assert_int_equal(call_period_find(kinds, 9), 3);
}

static void few_collectives_may_differ(void **state)
{
	uint32_t kinds[60];

	(void)state;
	for (uint32_t i = 0; i < COUNT(kinds); i++)
		kinds[i] = i % 2;
	kinds[30] = 9; /* two of 58 pairs differ */
	assert_int_equal(call_period_find(kinds, COUNT(kinds)), 2);
}

static void without_order_there_is_no_step(void **state)
{
	static const uint32_t kinds[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

	(void)state;
	assert_int_equal(call_period_find(kinds, COUNT(kinds)), 0);
	assert_int_equal(call_period_find(kinds, 0), 0);
	assert_int_equal(call_period_find(kinds, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_kind_makes_steps_of_one),
		cmocka_unit_test(a_pattern_that_comes_again_is_a_step),
		cmocka_unit_test(it_must_be_there_three_times),
		cmocka_unit_test(few_collectives_may_differ),
		cmocka_unit_test(without_order_there_is_no_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
