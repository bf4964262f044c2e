#include "report/statistics/outlier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool out[64];
static uint64_t median;

/* How many stand out. */
static uint32_t find(const uint64_t *values, uint32_t count, uint64_t scale)
{
	uint32_t found = 0;

	assert_int_equal(outlier_find(values, count, scale, out, &median), 0);
	for (uint32_t i = 0; i < count; i++)
		found += out[i];
	return found;
}

static void the_median_is_in_the_middle(void **state)
{
	(void)state;
	uint64_t odd[] = {9, 1, 5}, even[] = {UINT64_MAX, 1, 3, UINT64_MAX - 2};

	assert_int_equal(outlier_median(odd, 3), 5);
	assert_int_equal(outlier_median(even, 4), 3 + (UINT64_MAX - 5) / 2);
	assert_int_equal(outlier_median(even, 0), 0);
}

/* Median 1005, MAD 15: z of 10 is 45, of 900 4.7, of 1030 1.1. */
static void what_is_far_by_the_modified_z_score_stands_out(void **state)
{
	(void)state;
	uint64_t values[] = {1000, 1010, 990, 1020, 985, 1030, 1010, 10};

	assert_int_equal(find(values, 8, 0), 1);
	assert_true(out[7]);
	assert_int_equal(median, 1005);
	values[7] = 900; /* chance alone brings a z of 4.7 among eight values */
	assert_int_equal(find(values, 8, 0), 0);
}

/* A sum of 12 uniform numbers is nearly normal. */
static uint64_t noisy(uint64_t *seed)
{
	uint64_t sum = 0;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		sum += *seed >> 48;
	}
	return 1000000 + sum;
}

static void noise_does_not_stand_out(void **state)
{
	(void)state;
	uint64_t values[64], seed = 1;

	for (uint32_t count = 4; count <= 64; count++) {
		uint32_t found = 0;

		for (int i = 0; i < 200; i++) {
			for (uint32_t k = 0; k < count; k++)
				values[k] = noisy(&seed);
			found += find(values, count, 0) > 0;
		}
		assert_in_range(found, 0, 1); /* 0.04 are to be expected */
	}
}

/* z is 47, the distance below a twentieth of 2000. */
static void what_is_close_does_not_however_close_the_others_are(void **state)
{
	(void)state;
	const uint64_t values[] = {1000, 1001, 999, 1001, 999, 1000, 1001, 930};

	assert_int_equal(find(values, 8, 2000), 0);
	assert_int_equal(find(values, 8, 400), 1);
	assert_true(out[7]);
}

static void where_more_than_half_are_equal_the_mean_distance_counts(void **state)
{
	(void)state;
	const uint64_t one[] = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 900};
	const uint64_t none[] = {1000, 1000, 1000, 1000};
	const uint64_t three[] = {1000, 1000, 1000, 1000, 1000, 900, 1100, 900};

	assert_int_equal(find(one, 8, 0), 1);
	assert_true(out[7]);
	assert_int_equal(find(none, 4, 0), 0);
	assert_int_equal(find(three, 8, 0), 0); /* three of eight are no exception */
}

static void where_the_others_have_none_what_has_some_stands_out(void **state)
{
	(void)state;
	const uint64_t values[] = {0, 0, 0, 0, 0, 7};

	assert_int_equal(find(values, 6, 0), 1);
	assert_true(out[5]);
}

static void of_fewer_than_four_none_does(void **state)
{
	(void)state;
	const uint64_t values[] = {1000, 1000, 1};

	for (uint32_t count = 0; count <= 3; count++)
		assert_int_equal(find(values, count, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_is_in_the_middle),
		cmocka_unit_test(what_is_far_by_the_modified_z_score_stands_out),
		cmocka_unit_test(noise_does_not_stand_out),
		cmocka_unit_test(what_is_close_does_not_however_close_the_others_are),
		cmocka_unit_test(where_more_than_half_are_equal_the_mean_distance_counts),
		cmocka_unit_test(where_the_others_have_none_what_has_some_stands_out),
		cmocka_unit_test(of_fewer_than_four_none_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
