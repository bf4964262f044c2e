#include "tests/support/cmocka_test.h"

#include "report/statistics/drift.h"

static void a_line_drifts_as_far_as_it_goes(void **state)
{
	double values[DRIFT_MOST];
	struct drift drift;

	(void)state;
	for (uint32_t i = 0; i < DRIFT_MOST; i++)
		values[i] = 100 + i;
	values[5] = 1000; /* one value far off moves nothing */
	assert_true(drift_find(values, DRIFT_MOST, &drift));
	assert_true(drift.begin > 99.9 && drift.begin < 100.1);
	assert_true(drift.end > 130.9 && drift.end < 131.1);
	for (uint32_t i = 0; i < DRIFT_MOST; i++)
		values[i] = 131 - (double)i;
	assert_true(drift_find(values, DRIFT_MOST, &drift));
	assert_true(drift.end < drift.begin);
}

static void less_than_a_twentieth_is_no_drift(void **state)
{
	double values[DRIFT_MOST];
	struct drift drift;

	(void)state;
	for (uint32_t i = 0; i < DRIFT_MOST; i++)
		values[i] = 1000 + i;
	assert_false(drift_find(values, DRIFT_MOST, &drift));
}

static void what_goes_up_and_down_is_no_drift(void **state)
{
	double values[DRIFT_MOST];
	struct drift drift;

	(void)state;
	for (uint32_t i = 0; i < DRIFT_MOST; i++)
		values[i] = 100 + i * 13 % 32;
	assert_false(drift_find(values, DRIFT_MOST, &drift));
	for (uint32_t i = 0; i < DRIFT_LEAST; i++)
		values[i] = 100;
	assert_false(drift_find(values, DRIFT_LEAST, &drift));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_drifts_as_far_as_it_goes),
		cmocka_unit_test(less_than_a_twentieth_is_no_drift),
		cmocka_unit_test(what_goes_up_and_down_is_no_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
