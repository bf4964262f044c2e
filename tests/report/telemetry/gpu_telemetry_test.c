#include "tests/support/cmocka_test.h"

#include <string.h>

#include "report/telemetry/gpu_telemetry.h"

static struct placement_log *rows;

static int set_up(void **state)
{
	(void)state;
	rows = placement_log_create();
	assert_non_null(rows);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	placement_log_destroy(rows);
	return 0;
}

/* A life in which the GPU always ran at this clock. Times are in us. */
static void add(uint32_t device, uint64_t begin, uint64_t last, uint64_t observed, uint32_t mhz)
{
	const struct device_telemetry row = {
		.device_id = device,
		.begin_ns = begin,
		.last_ns = last,
		.readings = 2,
		.observed_ns = observed * 1000,
		.clock_ns = observed * 1000,
		.sm_cycles = observed * mhz,
		.sm_min_mhz = mhz,
		.sm_max_mhz = mhz,
		.reason_ns = {[TELEMETRY_FREE] = observed * 1000},
		.energy_ns = observed * 1000,
		.energy_mj = observed,
	};

	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
}

static void a_row_that_cannot_be_is_left_out(void **state)
{
	const struct device_telemetry wrong[] = {
		{.device_id = 1, .begin_ns = 1, .clock_ns = 1, .sm_cycles = 9000000000000000000},
		{.device_id = 1, .begin_ns = 2, .clock_ns = 1, .memory_cycles = 9000000000000},
		{.device_id = 1, .begin_ns = 3, .clock_ns = UINT64_MAX, .sm_cycles = 1},
		{.device_id = 1, .begin_ns = 4, .observed_ns = UINT64_MAX},
		{.device_id = 1, .begin_ns = 5, .reason_ns = {[TELEMETRY_OTHER] = UINT64_MAX}},
	};
	struct device_telemetry sums;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(placement_log_add_telemetry(rows, &wrong[i]), 0);
	add(1, 10, 20, 100, 1980);
	gpu_telemetry_of(rows, 1, &sums);
	assert_int_equal(sums.begin_ns, 10);
	assert_int_equal(sums.clock_ns, 100000);
	assert_int_equal(sums.sm_cycles, 198000);
	assert_int_equal(gpu_telemetry_working_ns(&sums), 100000);
}

static void lives_of_agents_add_up(void **state)
{
	struct device_telemetry sums;

	(void)state;
	add(1, 10, 20, 100, 1980);
	add(1, 20, 50, 300, 1500);
	add(2, 15, 25, 7, 900);
	gpu_telemetry_of(rows, 1, &sums);
	assert_int_equal(sums.observed_ns, 400000);
	assert_int_equal(sums.energy_mj, 400);
	assert_int_equal(sums.readings, 4);
	assert_int_equal(sums.begin_ns, 10);
	assert_int_equal(sums.last_ns, 50);
	assert_int_equal(sums.sm_min_mhz, 1500);
	assert_int_equal(sums.sm_max_mhz, 1980);
	assert_float_equal(gpu_telemetry_sm_mhz(&sums), 1620, 1e-9);
	gpu_telemetry_of(rows, 3, &sums);
	assert_int_equal(sums.begin_ns + sums.readings + sums.observed_ns, 0);
	assert_float_equal(gpu_telemetry_sm_mhz(&sums), 0, 0);
	assert_float_equal(gpu_telemetry_watts(&sums), 0, 0);
}

/* A row that ends or begins with the time counts if it has some of it. */
static void of_a_part_of_the_time_its_rows_count(void **state)
{
	struct device_telemetry sums;

	(void)state;
	add(1, 10, 20, 100, 1980);
	add(1, 20, 30, 100, 1410);
	add(1, 30, 40, 100, 1980);
	gpu_telemetry_between(rows, 1, 21, 30, &sums);
	assert_int_equal(sums.begin_ns, 20);
	assert_int_equal(sums.last_ns, 30);
	assert_float_equal(gpu_telemetry_sm_mhz(&sums), 1410, 1e-9);
	gpu_telemetry_between(rows, 1, 25, 31, &sums);
	assert_int_equal(sums.observed_ns, 200000);
	gpu_telemetry_between(rows, 1, 41, 50, &sums);
	assert_int_equal(sums.observed_ns, 0);
}

/* Each row overlaps two of the other agent. */
static void of_two_agents_all_the_time_one_counts_all_the_time(void **state)
{
	struct device_telemetry sums;

	(void)state;
	for (uint64_t i = 0; i < 50; i++) {
		add(1, 100 + 10 * i, 110 + 10 * i, 100, 1980);
		add(1, 105 + 10 * i, 115 + 10 * i, 101 + i, 1410);
	}
	gpu_telemetry_of(rows, 1, &sums);
	assert_int_equal(sums.readings, 100);
	assert_int_equal(sums.energy_mj, 5000);
	assert_int_equal(sums.last_ns, 600);
}

static void of_two_agents_at_the_same_time_one_counts(void **state)
{
	struct device_telemetry sums;

	(void)state;
	add(1, 10, 50, 100, 1980);
	add(1, 20, 40, 300, 1500);
	add(1, 39, 60, 500, 1410);
	add(1, 60, 70, 9, 1000);
	gpu_telemetry_of(rows, 1, &sums);
	assert_int_equal(sums.energy_mj, 309);
}

static void what_held_the_clocks_is_named_by_the_longest_time(void **state)
{
	struct device_telemetry sums = {
		.reason_ns = {[TELEMETRY_IDLE] = 1000,
			      [TELEMETRY_SW_THERMAL] = 30,
			      [TELEMETRY_SW_POWER_CAP] = 32,
			      [TELEMETRY_FREE] = 38},
		.power_ns = 200,
		.power_nj = 90000,
	};
	enum telemetry_reason longest;

	(void)state;
	assert_int_equal(gpu_telemetry_held_ns(&sums, &longest), 62);
	assert_int_equal(longest, TELEMETRY_SW_POWER_CAP);
	assert_int_equal(gpu_telemetry_working_ns(&sums), 100);
	assert_float_equal(gpu_telemetry_watts(&sums), 450, 1e-9);
	memset(sums.reason_ns, 0, sizeof(sums.reason_ns));
	sums.reason_ns[TELEMETRY_FREE] = 5;
	assert_int_equal(gpu_telemetry_held_ns(&sums, &longest), 0);
	assert_int_equal(longest, TELEMETRY_FREE);
}

static void each_reason_and_refusal_has_words(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < TELEMETRY_REASONS; i++) {
		assert_true(strlen(gpu_telemetry_reason_words(i)) > 0);
		assert_true(strlen(gpu_telemetry_reason_name(i)) > 0);
	}
	for (unsigned int i = TELEMETRY_ANSWERS + 1; i <= TELEMETRY_REFUSALS; i++)
		assert_true(strlen(gpu_telemetry_refusal_words(i)) > 0);
	assert_string_equal(gpu_telemetry_refusal_name(TELEMETRY_REFUSALS), "unknown");
	assert_string_equal(gpu_telemetry_refusal_name(TELEMETRY_ANSWERS), "none");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_that_cannot_be_is_left_out),
		TEST(lives_of_agents_add_up),
		TEST(of_a_part_of_the_time_its_rows_count),
		TEST(of_two_agents_all_the_time_one_counts_all_the_time),
		TEST(of_two_agents_at_the_same_time_one_counts),
		TEST(what_held_the_clocks_is_named_by_the_longest_time),
		TEST(each_reason_and_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
