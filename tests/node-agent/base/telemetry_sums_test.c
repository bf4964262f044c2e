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
	assert_int_equal(sums.ended[0].observed_ns, 0);
	assert_int_equal(sums.ended[0].reason_ns[TELEMETRY_FREE], 0);
	assert_int_equal(sums.ended[0].energy_ns, TELEMETRY_GAP_NS + MS);
	assert_int_equal(sums.ended[0].energy_mj, 800);
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
	assert_int_equal(sums.total.gpm_refusal, TELEMETRY_DIVIDED);
	assert_int_equal(sums.total.last_ns, REAL + 5 * MS);
	assert_int_equal(sums.total.readings, 0);
}

/* A reading each quarter of a second. Rows of a second add up to what one row would have. */
static void a_row_ends_after_a_second(void **state)
{
	struct device_telemetry all;

	(void)state;
	for (uint64_t i = 0; i <= 4; i++)
		add(reading(1980, TELEMETRY_FREE, 1000 + 100 * i), 250 * i);
	all = sums.ended[0];
	assert_int_equal(sums.nr_ended, 1);
	assert_int_equal(all.begin_ns, REAL);
	assert_int_equal(all.last_ns, REAL + 1000 * MS);
	assert_int_equal(all.readings, 5);
	assert_int_equal(all.clock_ns, 1000 * MS);
	assert_int_equal(all.energy_mj, 400);
	assert_int_equal(sums.total.begin_ns, REAL + 1000 * MS);
	assert_int_equal(sums.total.readings, 0);
	for (uint64_t i = 5; i <= 6; i++)
		add(reading(990, TELEMETRY_SW_POWER_CAP, 1000 + 100 * i), 250 * i);
	assert_int_equal(sums.nr_ended, 1);
	assert_int_equal(sums.total.readings, 2);
	assert_int_equal(sums.total.last_ns, REAL + 1500 * MS);
	assert_int_equal(sums.total.observed_ns, 500 * MS);
	assert_int_equal(sums.total.sm_cycles, 990 * 500000ull);
	assert_int_equal(sums.total.sm_max_mhz, 990);
	assert_int_equal(sums.total.energy_mj, 200);
	assert_int_equal(sums.total.reason_ns[TELEMETRY_SW_POWER_CAP], 500 * MS);
}

static void rows_that_have_ended_are_told_before_the_next_one(void **state)
{
	struct device_telemetry told = {0};
	uint64_t mj;

	(void)state;
	add(reading(1980, TELEMETRY_FREE, 1000), 0);
	add(reading(1980, TELEMETRY_FREE, 1100), 500);
	told = *telemetry_sums_next(&sums, &told);
	assert_int_equal(told.energy_mj, 100);
	for (uint64_t s = 1; s <= 4; s++)
		add(reading(1980, TELEMETRY_FREE, 1000 + 200 * s), 1000 * s);
	/* The first row again, as it has grown. */
	told = *telemetry_sums_next(&sums, &told);
	assert_int_equal(told.begin_ns, REAL);
	assert_int_equal(told.energy_mj, 200);
	mj = told.energy_mj;
	for (uint64_t s = 1; s <= 3; s++) {
		told = *telemetry_sums_next(&sums, &told);
		assert_int_equal(told.begin_ns, REAL + 1000 * s * MS);
		mj += told.energy_mj;
	}
	assert_int_equal(mj, 800);
	told = *telemetry_sums_next(&sums, &told);
	assert_int_equal(told.begin_ns, REAL + 4000 * MS);
	assert_int_equal(told.readings, 0);
	/* Who asks for the first time is told the one that grows. */
	assert_ptr_equal(telemetry_sums_next(&sums, &(struct device_telemetry){0}), &sums.total);
}

/* Beyond the room the oldest rows are lost to who did not ask. */
static void as_many_rows_wait_as_have_room(void **state)
{
	struct device_telemetry told = {0};
	uint32_t rows = 0;

	(void)state;
	add(reading(1980, TELEMETRY_FREE, 1000), 0);
	told = *telemetry_sums_next(&sums, &told);
	for (uint64_t s = 1; s <= TELEMETRY_SUMS_ENDED + 4; s++)
		add(reading(1980, TELEMETRY_FREE, 1000), 1000 * s);
	do {
		told = *telemetry_sums_next(&sums, &told);
		rows++;
	} while (told.begin_ns != sums.total.begin_ns);
	assert_int_equal(rows, TELEMETRY_SUMS_ENDED + 1);
}

/* In a day there are 32 rows in each time that is e times as long as the one before, from 32 s on. */
static void rows_are_as_long_as_a_32nd_of_all_time(void **state)
{
	uint64_t begin_ns = sums.total.begin_ns;
	uint32_t rows = 1;

	(void)state;
	for (uint64_t i = 0; i <= 86400ull * 4; i++) {
		add(reading(1980, TELEMETRY_FREE, 1000), 250 * i);
		rows += sums.total.begin_ns != begin_ns;
		begin_ns = sums.total.begin_ns;
	}
	assert_in_range(rows, 275, 290);
	const struct device_telemetry *last =
		&sums.ended[(sums.nr_ended - 1) % TELEMETRY_SUMS_ENDED];
	assert_in_range(last->last_ns - last->begin_ns, 2600000 * MS, 2701000 * MS);
}

/* What GPM tells between two samples. */
static struct nvml_reading sample(uint32_t computing, uint32_t sm, uint64_t nvlink)
{
	struct nvml_reading made = reading(1980, TELEMETRY_FREE, 0);

	made.gpm = (struct nvml_gpm_reading){
		.has_sample = true,
		.known_uses = 1u << TELEMETRY_COMPUTING | 1u << TELEMETRY_SM,
		.known_traffics = 1u << TELEMETRY_NVLINK_SENT,
		.use = {[TELEMETRY_COMPUTING] = computing, [TELEMETRY_SM] = sm},
		.bytes_per_second = {[TELEMETRY_NVLINK_SENT] = nvlink},
	};
	return made;
}

static void a_difference_of_gpm_counts_for_the_time_between_its_samples(void **state)
{
	const struct device_telemetry *total = &sums.total;

	(void)state;
	add((struct nvml_reading){.gpm = {.has_sample = true}}, 1);
	assert_int_equal(total->use_known_ns[TELEMETRY_SM], 0);
	add(sample(500000, 250000, 4000000000), 101);
	add(sample(1000000, 750000, 1000000000), 301);
	assert_int_equal(total->use_known_ns[TELEMETRY_COMPUTING], 300 * MS);
	assert_int_equal(total->use_ns[TELEMETRY_COMPUTING], 250 * MS);
	assert_int_equal(total->use_known_ns[TELEMETRY_SM], 300 * MS);
	assert_int_equal(total->use_ns[TELEMETRY_SM], 175 * MS);
	assert_int_equal(total->traffic_known_ns[TELEMETRY_NVLINK_SENT], 300 * MS);
	assert_int_equal(total->traffic_bytes[TELEMETRY_NVLINK_SENT], 400000000 + 200000000);
	/* what was not told */
	assert_int_equal(total->use_known_ns[TELEMETRY_TENSOR] + total->use_ns[TELEMETRY_TENSOR],
			 0);
	assert_int_equal(total->traffic_known_ns[TELEMETRY_PCIE_SENT], 0);
}

/* The sample before is still there, so the next difference spans the time of the one that failed. */
static void a_sample_that_fails_leaves_no_gap(void **state)
{
	(void)state;
	add(sample(0, 0, 0), 1);
	add((struct nvml_reading){.gpm = {.refusal = TELEMETRY_FAILED}}, 101);
	assert_int_equal(sums.total.gpm_refusal, TELEMETRY_FAILED);
	assert_int_equal(sums.total.refusal, TELEMETRY_ANSWERS);
	add(sample(1000000, 500000, 10), 201);
	assert_int_equal(sums.total.gpm_refusal, TELEMETRY_ANSWERS);
	assert_int_equal(sums.total.use_known_ns[TELEMETRY_SM], 200 * MS);
	assert_int_equal(sums.total.use_ns[TELEMETRY_SM], 100 * MS);
}

/* The difference that the driver makes after a pause spans it, and has work of others in it. */
static void a_pause_counts_for_nothing_of_gpm(void **state)
{
	(void)state;
	add(sample(0, 0, 0), 1);
	telemetry_sums_pause(&sums);
	add(sample(1000000, 1000000, 1000000), 101);
	assert_int_equal(sums.total.use_known_ns[TELEMETRY_SM] +
				 sums.total.traffic_known_ns[TELEMETRY_NVLINK_SENT],
			 0);
	add(sample(1000000, 1000000, 1000000), 201);
	assert_int_equal(sums.total.use_ns[TELEMETRY_SM], 100 * MS);
}

/* A GPU that was not read for 100 days at the greatest rate. */
static void the_greatest_amounts_do_not_overflow(void **state)
{
	const uint64_t days_ms = 100ull * 86400 * 1000;

	(void)state;
	add(sample(0, 0, 0), 1);
	add(sample(1000000, 1000000, 10485760000000), 1 + days_ms);
	assert_int_equal(sums.ended[0].use_ns[TELEMETRY_SM], days_ms * MS);
	assert_int_equal(sums.ended[0].traffic_bytes[TELEMETRY_NVLINK_SENT], INT64_MAX);
}

static void the_next_row_goes_on_with_the_reason(void **state)
{
	(void)state;
	add((struct nvml_reading){.gpm = {.refusal = TELEMETRY_NOT_SUPPORTED}}, 1);
	add((struct nvml_reading){.gpm = {.refusal = TELEMETRY_NOT_SUPPORTED}}, 1101);
	assert_int_equal(sums.nr_ended, 1);
	assert_int_equal(sums.total.gpm_refusal, TELEMETRY_NOT_SUPPORTED);
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
		TEST(a_row_ends_after_a_second),
		TEST(rows_that_have_ended_are_told_before_the_next_one),
		TEST(as_many_rows_wait_as_have_room),
		TEST(rows_are_as_long_as_a_32nd_of_all_time),
		TEST(a_difference_of_gpm_counts_for_the_time_between_its_samples),
		TEST(a_sample_that_fails_leaves_no_gap),
		TEST(a_pause_counts_for_nothing_of_gpm),
		TEST(the_greatest_amounts_do_not_overflow),
		TEST(the_next_row_goes_on_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
