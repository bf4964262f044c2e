/* What a fit of power tells of intervals whose truth is known. */
#include "report/resource/resource_fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S     1000000000ull
#define MAX   200u
#define MW_NS 1000000000ull /* in a mJ */

static struct resource_interval intervals[MAX];
static uint32_t nr;
static struct resource_fit fit;
static const struct resource_scale power = {.has_base = true};

static int set_up(void **state)
{
	(void)state;
	nr = 0;
	memset(intervals, 0, sizeof(intervals));
	return 0;
}

/* A second in which classes 1 and 2 run for parts of it, in thousandths. */
static void add(uint32_t one, uint32_t two, uint32_t idle_mw, uint32_t one_mw, uint32_t two_mw)
{
	struct resource_interval *interval = &intervals[nr++];

	interval->ns = S;
	interval->class_ns[1] = S / 1000 * one;
	interval->class_ns[2] = S / 1000 * two;
	interval->amount = (idle_mw * interval->ns + one_mw * interval->class_ns[1] +
			    two_mw * interval->class_ns[2]) /
			   MW_NS;
}

static void idle_power_is_measured_where_nothing_ran(void **state)
{
	(void)state;
	add(0, 0, 70000, 0, 0);
	add(1000, 0, 70000, 500000, 200000);
	add(0, 1000, 70000, 500000, 200000);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_MEASURED);
	assert_int_equal(fit.idle_rate, 70000);
	assert_int_equal(fit.nr_intervals, 2);
	assert_in_range(fit.class_rate[1], 499800, 500000);
	assert_in_range(fit.class_rate[2], 200000, 200200);
	assert_true(fit.apart[0] == 0 && fit.apart[1] == 1 && fit.apart[2] == 1);
	assert_int_equal(fit.nr_idle, 1);
	assert_int_equal(fit.nr_classes, 2);
	/* Two intervals fit two powers, whatever they are. */
	assert_int_equal(fit.error_rate[1], RESOURCE_RATE_UNKNOWN);
	assert_true(fit.residual < 0.001);
}

/* Without an interval of no work a straight line tells it, if work alone makes the difference. */
static void idle_power_is_fitted_where_work_was_more_and_less(void **state)
{
	(void)state;
	for (uint32_t part = 100; part <= 900; part += 100)
		add(part, 0, 70000, 500000, 0);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_FITTED);
	assert_in_range(fit.idle_rate, 69990, 70010);
	assert_in_range(fit.class_rate[1], 499900, 500100);
}

static void idle_power_of_a_gpu_that_was_always_busy_is_not_known(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		add(500, 450, 70000, 500000, 200000);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_UNKNOWN);
	assert_int_equal(fit.idle_rate, 0);
	/* Nothing tells the two apart: 410 W of 0.95 s each. */
	assert_in_range(fit.class_rate[1], 431570, 431590);
	assert_in_range(fit.class_rate[2], 431570, 431590);
	assert_true(fit.apart[1] < 1e-9 && fit.apart[2] < 1e-9);
	assert_int_equal(fit.error_rate[1], RESOURCE_RATE_UNKNOWN);
	assert_true(fit.residual < 0.001);
}

/* A service that is asked now and then. */
static void little_work_is_told_from_none(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++)
		add(i % 2 ? 8 : 0, 0, 70000, 300000, 0);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle_rate, 70000);
	assert_int_equal(fit.nr_idle, 30);
	assert_int_equal(fit.nr_intervals, 30);
	assert_in_range(fit.class_rate[1], 299000, 300000);
}

/* Where each interval has a little, its energy is in that without work. */
static void little_work_that_never_rests_is_none(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++)
		add(8, 0, 70000, 300000, 0);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_MEASURED);
	assert_int_equal(fit.idle_rate, 72400);
	assert_int_equal(fit.nr_idle, 0);
	assert_int_equal(fit.nr_intervals, 0);
}

static void nothing_is_fitted_without_work(void **state)
{
	(void)state;
	resource_fit_make(intervals, 0, &power, &fit);
	assert_int_equal(fit.nr_intervals + fit.work_rate + fit.idle_rate, 0);
	add(0, 0, 70000, 0, 0);
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.nr_intervals + fit.work_rate, 0);
	assert_int_equal(fit.idle_rate, 70000);
}

/* Nothing uses the memory of a GPU without work: a straight line would only invent it. */
static void a_resource_without_base_has_nothing_without_work(void **state)
{
	const struct resource_scale bytes = {.has_base = false, .little = 1000000};

	(void)state;
	for (uint32_t part = 100; part <= 900; part += 100)
		add(part, 0, 70000, 500000, 0);
	resource_fit_make(intervals, nr, &bytes, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_NONE);
	assert_int_equal(fit.idle_rate, 0);
	assert_in_range(fit.class_rate[1], 580000, 700000);
	const double missed = fit.residual;
	add(0, 0, 70000, 0, 0);
	resource_fit_make(intervals, nr, &bytes, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_MEASURED);
	assert_int_equal(fit.idle_rate, 70000);
	assert_true(fit.residual < missed);
}

/* Half a unit in a second is missed, of a resource of which a hundred are little. */
static void a_miss_is_compared_with_what_is_little(void **state)
{
	const struct resource_scale fine = {.has_base = true},
				    coarse = {.has_base = true, .little = 100};

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		intervals[nr++] =
			(struct resource_interval){.ns = S, .amount = i % 2, .class_ns = {0, S}};
	resource_fit_make(intervals, nr, &fine, &fit);
	assert_true(fit.residual > 0.9);
	resource_fit_make(intervals, nr, &coarse, &fit);
	assert_true(fit.residual > 0.004 && fit.residual < 0.006);
}

/* 4 TB/s and 1 TB/s, which 32 bits do not hold. */
static void large_rates_are_told_apart(void **state)
{
	const struct resource_scale bytes = {.has_base = false};
	uint64_t seed = 3;

	(void)state;
	while (nr < 50) {
		const uint64_t one = seed % 500, two = seed / 1000 % 500;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		intervals[nr++] = (struct resource_interval){
			.ns = S,
			.amount = 4000000000ull * one + 1000000000ull * two,
			.class_ns = {0, S / 1000 * one, S / 1000 * two}};
	}
	resource_fit_make(intervals, nr, &bytes, &fit);
	assert_in_range(fit.class_rate[1], 3960000000000ull, 4040000000000ull);
	assert_in_range(fit.class_rate[2], 960000000000ull, 1040000000000ull);
}

/* More work and less energy is no line, and power is not below 0. */
static void no_power_is_below_zero(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		add(900, 0, 70000, 100000, 0);
		add(100, 0, 300000, 0, 0);
		add(900, 100, 0, 10000, 0);
	}
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.idle, RESOURCE_IDLE_UNKNOWN);
	assert_int_equal(fit.class_rate[2], 0);
	assert_true(fit.residual > 0.1 && fit.residual <= 1);
}

/* Intervals of one class alone miss 30 W to either side: the standard error of the mean of n is that by the root of
 * n - 1. */
static void errors_are_those_of_a_mean(void **state)
{
	(void)state;
	add(0, 0, 70000, 0, 0);
	for (uint32_t i = 0; i < 50; i++) {
		add(1000, 0, 70000, 470000, 0);
		add(1000, 0, 70000, 530000, 0);
	}
	resource_fit_make(intervals, nr, &power, &fit);
	assert_int_equal(fit.class_rate[1], 500000);
	assert_in_range(fit.error_rate[1], 3000, 3030);
	assert_true(fit.residual > 0.05 && fit.residual < 0.055);
}

/* In each interval class 1 runs for 0.5 s, and class 2 for 0.3 or 0.5 s: what is not the same proportion is left. */
static void what_is_apart_is_one_minus_r_squared(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		add(500, i % 2 ? 300 : 500, 70000, 500000, 200000);
	resource_fit_make(intervals, nr, &power, &fit);
	/* The means of squares are 0.25 and 0.17, that of products is 0.2. */
	const double apart = 1 - 0.2 * 0.2 / (0.25 * 0.17);
	assert_true(fabs(fit.apart[1] - apart) < 1e-6);
	assert_true(fabs(fit.apart[2] - apart) < 1e-6);
}

static uint32_t next_of(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

/* Steps of a training are all alike: small changes of their mix are those of where an interval ends. */
static void noise_does_not_tell_kernels_of_one_mix_apart(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add(0, 0, 70000, 0, 0);
	while (nr < MAX) {
		const uint32_t one = 497 + next_of(&seed) % 7, two = 397 + next_of(&seed) % 7;

		/* 2 % more or less than 70 W, and 300 W and 100 W for both. */
		add(one, two, 70000, 300000, 100000);
		intervals[nr - 1].amount =
			intervals[nr - 1].amount * (980 + next_of(&seed) % 41) / 1000;
	}
	resource_fit_make(intervals, nr, &power, &fit);
	/* All work adds 211 W. */
	assert_in_range(fit.class_rate[1], 200000, 225000);
	assert_in_range(fit.class_rate[2], 195000, 220000);
	assert_true(fit.apart[1] < 0.001 && fit.apart[2] < 0.001);
	assert_true(fit.error_rate[1] > 20000 && fit.error_rate[2] > 20000);
	assert_true(fit.residual < 0.02);
}

/* A hundred-thousandth of the time, where each second's reading is 1 % off. */
static void work_of_hardly_any_time_gets_the_power_of_all_work(void **state)
{
	(void)state;
	add(0, 0, 70000, 0, 0);
	for (uint32_t i = 0; i < 60; i++) {
		struct resource_interval *interval = &intervals[nr];

		add(1000, 0, 70000, 500000, 0);
		interval->amount = i % 2 ? interval->amount + 5700 : interval->amount - 5700;
		interval->class_ns[3] = i % 2 ? 20000 : 0;
	}
	resource_fit_make(intervals, nr, &power, &fit);
	assert_in_range(fit.class_rate[1], 495000, 505000);
	assert_in_range(fit.class_rate[3], 400000, 600000);
}

/* As cuBLAS sets a few bytes before each product. */
static void work_of_hardly_any_time_takes_nothing_from_its_company(void **state)
{
	(void)state;
	add(0, 0, 70000, 0, 0);
	for (uint32_t i = 0; i < 60; i++) {
		struct resource_interval *interval = &intervals[nr];

		if (i % 3) {
			add(1000, 0, 70000, 500000, 0);
			interval->class_ns[3] = S / 2000;
		} else {
			add(0, 1000, 70000, 0, 300000);
		}
		interval->amount = i % 2 ? interval->amount + 5700 : interval->amount - 5700;
	}
	resource_fit_make(intervals, nr, &power, &fit);
	assert_true(fit.apart[1] == 1 && fit.apart[2] == 1 && fit.apart[3] < 1e-9);
	assert_in_range(fit.class_rate[1], 498000, 502000);
	assert_true(fit.error_rate[1] < 2000 && fit.error_rate[2] < 2000);
	assert_in_range(fit.class_rate[3], 400000, 500000);
	assert_int_equal(fit.error_rate[3], RESOURCE_RATE_UNKNOWN);
}

static void random_mixes_tell_each_class(void **state)
{
	uint32_t truth[RESOURCE_CLASSES];
	uint64_t seed = 7;

	(void)state;
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		truth[i] = 100000 + i * 30000;
	for (nr = 1; nr < MAX; nr++) {
		uint64_t energy = 80000 * S;

		intervals[nr].ns = S;
		for (uint32_t i = 0; i < RESOURCE_CLASSES; i++) {
			intervals[nr].class_ns[i] = next_of(&seed) % (S / 8);
			energy += truth[i] * intervals[nr].class_ns[i];
		}
		intervals[nr].amount = energy / MW_NS;
	}
	intervals[0] = (struct resource_interval){.ns = S, .amount = 80000};
	resource_fit_make(intervals, nr, &power, &fit);
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		assert_in_range(fit.class_rate[i], truth[i] - 2000, truth[i] + 2000);
	assert_true(fit.residual < 0.001);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(idle_power_is_measured_where_nothing_ran),
		TEST(idle_power_is_fitted_where_work_was_more_and_less),
		TEST(idle_power_of_a_gpu_that_was_always_busy_is_not_known),
		TEST(little_work_is_told_from_none),
		TEST(little_work_that_never_rests_is_none),
		TEST(nothing_is_fitted_without_work),
		TEST(a_resource_without_base_has_nothing_without_work),
		TEST(a_miss_is_compared_with_what_is_little),
		TEST(large_rates_are_told_apart),
		TEST(no_power_is_below_zero),
		TEST(errors_are_those_of_a_mean),
		TEST(what_is_apart_is_one_minus_r_squared),
		TEST(noise_does_not_tell_kernels_of_one_mix_apart),
		TEST(work_of_hardly_any_time_gets_the_power_of_all_work),
		TEST(work_of_hardly_any_time_takes_nothing_from_its_company),
		TEST(random_mixes_tell_each_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
