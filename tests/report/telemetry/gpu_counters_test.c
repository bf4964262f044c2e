/* What became of samples of counters, over lives of agents. */
#include "report/telemetry/gpu_counters.h"

#include "tests/support/cmocka_test.h"

static void states_of_a_gpu_add_up(void **state)
{
	struct placement_log *log = placement_log_create();
	const struct counter_state states[] = {
		{1, COUNTER_TAKEN, 30, 90, 1000, 5, 4, 3, 2, 1, 800, 700, 2},
		{1, COUNTER_DIED, 10, 20, 2000, 50, 40, 30, 20, 10, 80, 70, 20},
		{2, COUNTER_NO_RIGHT, 1, 100, 3000, 7, 7, 7, 7, INT64_MAX, 7, 7, 7},
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
	assert_int_equal(sums.asked_ns, 880);
	assert_int_equal(sums.covered_ns, 770);
	assert_int_equal(sums.invalid, 22);
	gpu_counters_of(log, 3, &sums);
	assert_int_equal(sums.begin_ns, 0);
	placement_log_saved(log);
	gpu_counters_of(log, 1, &sums);
	assert_int_equal(sums.begin_ns, 0);
	placement_log_destroy(log);
}

static uint64_t missing_ns(uint64_t asked_ns, uint64_t covered_ns)
{
	return gpu_counters_missing_ns(
		&(struct counter_state){.asked_ns = asked_ns, .covered_ns = covered_ns});
}

static void missing_time_is_told_from_a_second_on(void **state)
{
	const uint64_t s = 1000000000;

	(void)state;
	assert_int_equal(missing_ns(10 * s, s / 2), 19 * s / 2);
	assert_int_equal(missing_ns(s, 0), s);
	assert_int_equal(missing_ns(s - 1, 0), 0);
	assert_int_equal(missing_ns(20 * s, 19 * s), s);
	assert_int_equal(missing_ns(21 * s, 20 * s), 0);
	assert_int_equal(missing_ns(0, 0), 0);
	assert_int_equal(missing_ns(s, 3 * s), 0);
}

static void each_refusal_has_a_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COUNTER_REFUSALS; i++)
		assert_non_null(gpu_counters_refusal_name(i));
	assert_string_equal(gpu_counters_refusal_name(COUNTER_NO_RIGHT), "no_right");
	assert_string_equal(gpu_counters_refusal_name(COUNTER_REFUSALS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_of_a_gpu_add_up),
		cmocka_unit_test(missing_time_is_told_from_a_second_on),
		cmocka_unit_test(each_refusal_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
