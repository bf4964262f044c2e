#include "tests/support/cmocka_test.h"

#include "report/telemetry/gpm_use.h"
#include "report/telemetry/gpu_telemetry.h"

#define MS 1000000ull

/* A second in which the GPU computed for 800 ms. */
static struct device_telemetry second(void)
{
	struct device_telemetry made = {.device_id = 1, .begin_ns = 10, .last_ns = 20};

	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		made.use_known_ns[i] = 1000 * MS;
	made.use_ns[TELEMETRY_COMPUTING] = 800 * MS;
	made.use_ns[TELEMETRY_SM] = 600 * MS;
	made.use_ns[TELEMETRY_OCCUPANCY] = 200 * MS;
	made.use_ns[TELEMETRY_TENSOR] = 80 * MS;
	made.use_ns[TELEMETRY_DRAM] = 400 * MS;
	made.traffic_known_ns[TELEMETRY_PCIE_SENT] = 500 * MS;
	made.traffic_bytes[TELEMETRY_PCIE_SENT] = 7000000000;
	return made;
}

static void use_is_of_the_time_in_which_the_gpu_computed(void **state)
{
	const struct device_telemetry sums = second();

	(void)state;
	assert_true(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_COMPUTING), 0.8, 1e-9);
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_SM), 0.75, 1e-9);
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_OCCUPANCY), 0.25, 1e-9);
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_TENSOR), 0.1, 1e-9);
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_DRAM), 0.5, 1e-9);
	assert_int_equal(gpm_use_known_ns(&sums), 1000 * MS);
}

static void a_rate_is_of_all_time(void **state)
{
	const struct device_telemetry sums = second();

	(void)state;
	assert_float_equal(gpm_use_rate(&sums, TELEMETRY_PCIE_SENT), 14e9, 1);
	assert_float_equal(gpm_use_rate(&sums, TELEMETRY_NVLINK_SENT), GPM_USE_UNKNOWN, 0);
}

/* A little more than all is what two counters differ by. Copies use the memory while nothing computes. */
static void use_beyond_the_time_of_computing_is_of_all_time(void **state)
{
	struct device_telemetry sums = second();

	(void)state;
	sums.use_ns[TELEMETRY_DRAM] = 810 * MS;
	assert_true(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_DRAM), 1, 0);
	sums.use_ns[TELEMETRY_DRAM] = 900 * MS;
	assert_false(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_DRAM), 0.9, 1e-9);
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_SM), 0.6, 1e-9);
}

static void use_of_another_time_than_computing_is_of_all_time(void **state)
{
	struct device_telemetry sums = second();

	(void)state;
	sums.use_known_ns[TELEMETRY_TENSOR] = 500 * MS;
	assert_false(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_TENSOR), 0.16, 1e-9);
	/* what is not known at all changes nothing */
	sums.use_known_ns[TELEMETRY_TENSOR] = sums.use_ns[TELEMETRY_TENSOR] = 0;
	assert_true(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_TENSOR), GPM_USE_UNKNOWN, 0);
	sums.use_ns[TELEMETRY_COMPUTING] = 0;
	assert_false(gpm_use_is_of_work(&sums));
	assert_float_equal(gpm_use_mean(&sums, TELEMETRY_SM), 0.6, 1e-9);
}

static void nothing_known_is_unknown(void **state)
{
	const struct device_telemetry none = {0};

	(void)state;
	assert_false(gpm_use_is_of_work(&none));
	assert_int_equal(gpm_use_known_ns(&none), 0);
	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		assert_float_equal(gpm_use_mean(&none, i), GPM_USE_UNKNOWN, 0);
}

static void rows_add_up_but_those_that_cannot_be(void **state)
{
	struct placement_log *rows = placement_log_create();
	struct device_telemetry row = second(), sums;

	(void)state;
	assert_non_null(rows);
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	row.begin_ns = 20, row.last_ns = 30;
	row.gpm_refusal = TELEMETRY_NO_PERMISSION;
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	row.begin_ns = 30;
	row.use_ns[TELEMETRY_SM] = row.use_known_ns[TELEMETRY_SM] + 1;
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	row = second();
	row.begin_ns = 31;
	row.use_known_ns[TELEMETRY_DRAM] = INT64_MAX;
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	row = second();
	row.begin_ns = 32;
	row.traffic_bytes[TELEMETRY_PCIE_SENT] = INT64_MAX;
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	gpu_telemetry_of(rows, 1, &sums);
	assert_int_equal(sums.use_known_ns[TELEMETRY_SM], 2000 * MS);
	assert_int_equal(sums.use_ns[TELEMETRY_SM], 1200 * MS);
	assert_int_equal(sums.traffic_bytes[TELEMETRY_PCIE_SENT], 14000000000);
	assert_int_equal(sums.gpm_refusal, TELEMETRY_NO_PERMISSION);
	placement_log_destroy(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(use_is_of_the_time_in_which_the_gpu_computed),
		cmocka_unit_test(a_rate_is_of_all_time),
		cmocka_unit_test(use_beyond_the_time_of_computing_is_of_all_time),
		cmocka_unit_test(use_of_another_time_than_computing_is_of_all_time),
		cmocka_unit_test(nothing_known_is_unknown),
		cmocka_unit_test(rows_add_up_but_those_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
