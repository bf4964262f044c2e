/* What became of samples of counters, over lives of agents. */
#include "report/telemetry/gpu_counters.h"

#include "tests/support/cmocka_test.h"

static void states_of_a_gpu_add_up(void **state)
{
	struct placement_log *log = placement_log_create();
	const struct counter_state states[] = {
		{1, COUNTER_TAKEN, 30, 90, 1000, 5, 4, 3, 2, 1},
		{1, COUNTER_DIED, 10, 20, 2000, 50, 40, 30, 20, 10},
		{2, COUNTER_NO_RIGHT, 1, 100, 3000, 7, 7, 7, 7, INT64_MAX},
	};
	struct counter_state sums;

	(void)state;
	assert_non_null(log);
	for (int i = 0; i < 3; i++)
		assert_int_equal(placement_log_add_counter_state(log, &states[i]), 0);
	gpu_counters_of(log, 1, &sums);
	assert_int_equal(sums.refusal, COUNTER_TAKEN);
	assert_int_equal(sums.interval_ns, 1000);
	assert_int_equal(sums.begin_ns, 30);
	assert_int_equal(sums.last_ns, 90);
	assert_int_equal(sums.samples, 55);
	assert_int_equal(sums.kept, 44);
	assert_int_equal(sums.unsent, 33);
	assert_int_equal(sums.dropped, 22);
	assert_int_equal(sums.overflows, 11);
	gpu_counters_of(log, 3, &sums);
	assert_int_equal(sums.begin_ns, 0);
	placement_log_saved(log);
	gpu_counters_of(log, 1, &sums);
	assert_int_equal(sums.begin_ns, 0);
	placement_log_destroy(log);
}

static void each_refusal_has_words(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNTER_REFUSALS; i++) {
		assert_non_null(gpu_counters_refusal_words(i));
		assert_non_null(gpu_counters_refusal_name(i));
	}
	assert_string_equal(gpu_counters_refusal_name(COUNTER_NO_RIGHT), "no_right");
	assert_string_equal(gpu_counters_refusal_name(COUNTER_REFUSALS), "unknown");
	assert_string_equal(gpu_counters_refusal_words(UINT32_MAX), "the reason is unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_of_a_gpu_add_up),
		cmocka_unit_test(each_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
