#include "report/compare/noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/compare/run_item.h"
#include "report/compare/student.h"
#include "report/compare/weighted_median.h"

#define WINDOWS 320u

static void assert_near(double value, double wanted, double part)
{
	if (fabs(value - wanted) > part * fabs(wanted))
		fail_msg("%g, expected %g", value, wanted);
}

static void quantiles_are_those_of_the_tables(void **state)
{
	(void)state;
	assert_near(student_quantile(0.05, 1), 6.313752, 1e-5);
	assert_near(student_quantile(0.005, 2), 9.924843, 1e-5);
	assert_near(student_quantile(0.01, 3), 4.540703, 1e-5);
	assert_near(student_quantile(0.005, 10), 3.169273, 1e-5);
	assert_near(student_quantile(0.0005, 30), 3.645959, 1e-5);
	assert_near(student_quantile(0.01, 1e6), 2.326352, 1e-4);
	assert_near(student_quantile(0.01, INFINITY), 2.326348, 1e-5);
	assert_near(student_quantile(0.0005, INFINITY), 3.290527, 1e-5);
	/* between 3 and 4 degrees of freedom: between these quantiles */
	assert_true(student_quantile(0.01, 3.5) < 4.540703);
	assert_true(student_quantile(0.01, 3.5) > 3.746947);
}

/* Windows of equal work, whose times are 1 + values[i]. */
static bool noise_of(const double *values, uint32_t n, struct noise *noise)
{
	static struct run_window windows[WINDOWS];

	for (uint32_t i = 0; i < n; i++)
		windows[i] = (struct run_window){1, i, 1e6 * (1 + values[i]), 1e6};
	return noise_of_windows(windows, n, noise);
}

static double normal(uint64_t *seed)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*seed >> 11) * 0x1p-53;
	}
	return sum;
}

static void independent_windows_have_the_deviation_of_their_mean(void **state)
{
	double values[WINDOWS], sum = 0;
	struct noise noise;
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < WINDOWS; i++)
			values[i] = 0.01 * normal(&seed);
		assert_true(noise_of(values, WINDOWS, &noise));
		assert_true(noise.freedom <= NOISE_BATCHES - 1);
		sum += noise.deviation * noise.deviation / 50;
	}
	/* 0.01 / sqrt(320), and no less: correlations by chance make it a little wider */
	assert_true(sqrt(sum) > 0.00055);
	assert_true(sqrt(sum) < 0.00080);
}

static void windows_that_follow_one_another_alike_count_less(void **state)
{
	double values[WINDOWS], clock = 0;
	struct noise noise;
	uint64_t seed = 7;

	(void)state;
	for (uint32_t i = 0; i < WINDOWS; i++) {
		clock = 0.97 * clock + 0.01 * normal(&seed);
		values[i] = clock;
	}
	assert_true(noise_of(values, WINDOWS, &noise));
	/* Independent ones of the same spread would have 0.041 / sqrt(320) = 0.0023. */
	assert_true(noise.deviation > 0.005);
	assert_true(noise.freedom < 20);
}

static void a_drift_through_the_whole_run_is_no_base(void **state)
{
	double values[WINDOWS];
	struct noise noise;

	(void)state;
	for (uint32_t i = 0; i < WINDOWS; i++)
		values[i] = 0.01 * i / WINDOWS;
	assert_true(noise_of(values, WINDOWS, &noise));
	assert_true(noise.freedom == 3);
	assert_true(noise_width(&noise, 0.001) > 0.01);
}

static void few_windows_tell_nothing(void **state)
{
	double values[NOISE_BATCHES_MIN] = {0};
	struct noise noise;

	(void)state;
	assert_false(noise_of(values, 0, &noise));
	assert_false(noise_of(values, NOISE_BATCHES_MIN - 1, &noise));
	assert_true(noise_of(values, NOISE_BATCHES_MIN, &noise));
	assert_true(noise_width(&noise, 0.001) == 0);
}

static void windows_without_work_tell_nothing(void **state)
{
	static const struct run_window windows[WINDOWS];
	struct noise noise;

	(void)state;
	assert_false(noise_of_windows(windows, WINDOWS, &noise));
}

static void values_have_the_deviation_of_their_mean(void **state)
{
	static const double values[] = {1, 2, 3, 4};
	struct noise noise = noise_of_values(values, 4);

	(void)state;
	assert_near(noise.deviation, sqrt(5.0 / 3 / 4), 1e-12);
	assert_true(noise.freedom == 3);
}

static void noises_add_up_as_welch_says(void **state)
{
	const struct noise a = {3, 10, 0.5}, b = {4, 20, 0.25}, none = {0, INFINITY, 0};
	struct noise sum = noise_add(a, b);

	(void)state;
	assert_near(sum.deviation, 5, 1e-12);
	assert_near(sum.freedom, 625.0 / (81.0 / 10 + 256.0 / 20), 1e-12);
	assert_near(noise_width(&sum, 0.01), 5 * student_quantile(0.01, sum.freedom) + 0.75, 1e-9);
	sum = noise_add(none, none);
	assert_true(noise_width(&sum, 0.01) == 0);
	sum = noise_add(none, a);
	assert_near(sum.freedom, 10, 1e-12);
}

static void the_weighted_median_has_half_of_the_weight(void **state)
{
	struct weighted_value values[] = {{5, 1}, {1, 1}, {2, 3}, {9, 0.5}};

	(void)state;
	assert_true(weighted_median(values, 4) == 2);
	assert_true(weighted_median(values, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_the_tables),
		cmocka_unit_test(independent_windows_have_the_deviation_of_their_mean),
		cmocka_unit_test(windows_that_follow_one_another_alike_count_less),
		cmocka_unit_test(a_drift_through_the_whole_run_is_no_base),
		cmocka_unit_test(few_windows_tell_nothing),
		cmocka_unit_test(windows_without_work_tell_nothing),
		cmocka_unit_test(values_have_the_deviation_of_their_mean),
		cmocka_unit_test(noises_add_up_as_welch_says),
		cmocka_unit_test(the_weighted_median_has_half_of_the_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
