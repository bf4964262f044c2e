#include "tests/support/cmocka_test.h"

#include "node-agent/base/telemetry_sums.h"

#define MS    1000000ull
#define BEGIN (7 * MS)
#define REAL  1700000000000000000ull

static struct telemetry_sums sums;

static int set_up(void **state)
{
	(void)state;
	telemetry_sums_init(&sums, BEGIN, REAL);
	return 0;
}

static struct nvml_reading reading(uint32_t mhz, uint32_t reason, uint64_t energy_mj)
{
	return (struct nvml_reading){
		.known = NVML_CLOCKS | NVML_REASONS | NVML_POWER | NVML_ENERGY | NVML_ECC,
		.sm_mhz = mhz,
		.memory_mhz = 2619,
		.reason = reason,
		.power_mw = 400000,
		.energy_mj = energy_mj,
	};
}

static void add(struct nvml_reading what, uint64_t at_ms)
{
	telemetry_sums_add(&sums, &what, BEGIN + at_ms * MS);
}

static void time_has_the_values_of_the_reading_at_its_end(void **state)
{
	const struct device_telemetry *total = &sums.total;

	(void)state;
	add(reading(900, TELEMETRY_FREE, 5000), 1);
	assert_int_equal(total->readings, 1);
	assert_int_equal(total->observed_ns + total->clock_ns + total->energy_ns, 0);
	add(reading(1410, TELEMETRY_SW_POWER_CAP, 5060), 251);
	add(reading(1980, TELEMETRY_FREE, 5200), 351);
	assert_int_equal(total->begin_ns, REAL);
	assert_int_equal(total->last_ns, REAL + 351 * MS);
	assert_int_equal(total->observed_ns, 350 * MS);
	assert_int_equal(total->clock_ns, 350 * MS);
	assert_int_equal(total->sm_cycles, 1410 * 250000ull + 1980 * 100000ull);
	assert_int_equal(total->memory_cycles, 2619 * 350000ull);
	assert_int_equal(total->sm_min_mhz, 1410);
	assert_int_equal(total->sm_max_mhz, 1980);
	assert_int_equal(total->reason_ns[TELEMETRY_SW_POWER_CAP], 250 * MS);
	assert_int_equal(total->reason_ns[TELEMETRY_FREE], 100 * MS);
	assert_int_equal(total->power_ns, 350 * MS);
	assert_int_equal(total->power_nj, 400000 * 350000ull);
	assert_int_equal(total->energy_ns, 350 * MS);
	assert_int_equal(total->energy_mj, 200);
}

static void an_idle_gpu_has_no_clock(void **state)
{
	(void)state;
	add(reading(345, TELEMETRY_IDLE, 0), 1);
	add(reading(345, TELEMETRY_IDLE, 0), 101);
	assert_int_equal(sums.total.observed_ns, 100 * MS);
	assert_int_equal(sums.total.reason_ns[TELEMETRY_IDLE], 100 * MS);
	assert_int_equal(sums.total.clock_ns, 0);
	assert_int_equal(sums.total.sm_max_mhz, 0);
}

static void a_gap_counts_for_the_counter_of_energy_alone(void **state)
{
	(void)state;
	add(reading(1980, TELEMETRY_FREE, 100), 1);
	add(reading(1980, TELEMETRY_FREE, 900), 1 + TELEMETRY_GAP_NS / MS + 1);
	assert_int_equal(sums.total.observed_ns, 0);
	assert_int_equal(sums.total.reason_ns[TELEMETRY_FREE], 0);
	assert_int_equal(sums.total.energy_ns, TELEMETRY_GAP_NS + MS);
	assert_int_equal(sums.total.energy_mj, 800);
}

static void a_pause_counts_for_nothing(void **state)
{
	(void)state;
	add(reading(1980, TELEMETRY_FREE, 100), 1);
	telemetry_sums_pause(&sums);
	add(reading(1980, TELEMETRY_FREE, 900), 101);
	assert_int_equal(sums.total.observed_ns + sums.total.energy_ns, 0);
	add(reading(1980, TELEMETRY_FREE, 950), 201);
	assert_int_equal(sums.total.observed_ns, 100 * MS);
	assert_int_equal(sums.total.energy_mj, 50);
}

static void each_value_has_the_time_in_which_it_is_known(void **state)
{
	struct nvml_reading poor = {.refusal = TELEMETRY_NOT_SUPPORTED, .celsius = 71};

	(void)state;
	add(reading(1980, TELEMETRY_FREE, 100), 1);
	poor.known = NVML_POWER | NVML_TEMPERATURE;
	add(poor, 101);
	assert_int_equal(sums.total.refusal, TELEMETRY_NOT_SUPPORTED);
	assert_int_equal(sums.total.max_celsius, 71);
	assert_int_equal(sums.total.observed_ns, 100 * MS);
	assert_int_equal(sums.total.power_ns, 100 * MS);
	assert_int_equal(sums.total.clock_ns + sums.total.energy_ns, 0);
	add(reading(1980, TELEMETRY_FREE, 350), 201);
	assert_int_equal(sums.total.refusal, TELEMETRY_ANSWERS);
	assert_int_equal(sums.total.clock_ns, 100 * MS);
	/* the difference of a counter misses nothing */
	assert_int_equal(sums.total.energy_ns, 200 * MS);
	assert_int_equal(sums.total.energy_mj, 250);
}

static void counters_that_begin_anew_do_not_count(void **state)
{
	struct nvml_reading errors = reading(1980, TELEMETRY_FREE, 100);

	(void)state;
	errors.ecc_corrected = 7;
	add(errors, 1);
	errors.ecc_corrected = 9;
	errors.energy_mj = 40;
	add(errors, 101);
	assert_int_equal(sums.total.energy_ns + sums.total.energy_mj, 0);
	assert_int_equal(sums.total.ecc_ns, 100 * MS);
	assert_int_equal(sums.total.ecc_corrected, 2);
	errors.ecc_corrected = 1;
	errors.energy_mj = 42;
	add(errors, 201);
	assert_int_equal(sums.total.energy_mj, 2);
	assert_int_equal(sums.total.ecc_corrected, 2);
}

static void a_refusal_is_said_and_leaves_the_sums(void **state)
{
	(void)state;
	telemetry_sums_refuse(&sums, TELEMETRY_DIVIDED, BEGIN + 5 * MS);
	assert_int_equal(sums.total.refusal, TELEMETRY_DIVIDED);
	assert_int_equal(sums.total.last_ns, REAL + 5 * MS);
	assert_int_equal(sums.total.readings, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(time_has_the_values_of_the_reading_at_its_end),
		TEST(an_idle_gpu_has_no_clock),
		TEST(a_gap_counts_for_the_counter_of_energy_alone),
		TEST(a_pause_counts_for_nothing),
		TEST(each_value_has_the_time_in_which_it_is_known),
		TEST(counters_that_begin_anew_do_not_count),
		TEST(a_refusal_is_said_and_leaves_the_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
