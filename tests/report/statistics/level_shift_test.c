#include "report/statistics/level_shift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/statistics/lasting_noise.h"
#include "tests/report/straggler/straggler_fixture.h"

#define COUNT 100u

/* ---- pairs */

static void assert_near(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-9)
		fail_msg("%.12f, not %.12f", value, wanted);
}

static void pairs_of_neighbours_and_of_those_apart_are_added(void **state)
{
	const double distances[] = {1, 2, -1, 3, 100, 4};
	struct lasting_noise pairs = {{0}, {0}, {0}};

	(void)state;
	lasting_noise_add(&pairs, distances, 6, 50);
	assert_near(pairs.products[0], 1 * 2 - 2 * 1 - 1 * 3);
	assert_near(pairs.squares[0], (1 + 4 + 4 + 1 + 1 + 9) / 2.0);
	assert_near(pairs.products[1], 1 * 3 - 1 * 4);
	assert_near(pairs.squares[1], (1 + 9 + 1 + 16) / 2.0);
	lasting_noise_add(&pairs, distances + 3, 2, 0);
	assert_near(pairs.products[0], 1 * 2 - 2 * 1 - 1 * 3 + 300);
}

static void assert_part(double near, double far, uint32_t means, double part, double least)
{
	const struct lasting_noise pairs = {{COUNT, COUNT}, {near, far}, {10, 10}};

	assert_near(lasting_noise_part(&pairs, means, COUNT), part);
	assert_near(lasting_noise_least(&pairs, means, COUNT), least);
}

/* (1 - r) / (1 + r), where r is what pairs show and (1 + 3 r) means / n. */
static void neighbours_that_are_alike_count_as_fewer(void **state)
{
	const double one = (1 - 0.525) / (1 + 0.525), two = (1 - 0.55) / (1 + 0.55);

	(void)state;
	assert_part(-1, 0, 1, 1, 1);
	assert_part(0, 0, 1, 1, 1);
	assert_part(5, 0, 1, one, one);
	assert_part(5, 0, 2, two, two);
	assert_part(10, 0, 2, 0.01 / 1.99, 0.01 / 1.99);
	/* those apart may be so much alike by chance */
	assert_part(5, 2, 1, one, one);
	/* 0.525 = a r, 0.475 + 0.02425 = a r^3: with other noise */
	assert_part(5, 4.75, 1, one, 1 / (1 + 2 * 0.525 / (1 - sqrt(0.49925 / 0.525))));
}

/* ---- shifts */

/* Fills the series with noise, of which so much stays. */
static void make_noise(double *series, double stays, uint64_t seed)
{
	double noise = job_normal(&seed);

	for (uint32_t i = 0; i < COUNT; i++) {
		series[i] = noise;
		noise = stays * noise + sqrt(1 - stays * stays) * job_normal(&seed);
	}
}

static double shift_of(const double *series, uint32_t first, uint32_t nr_part)
{
	double room[3 * COUNT];

	return level_shift_z(series, COUNT, first, nr_part, room);
}

/* Returns how high the part looks that looks highest: any level may be the highest by chance. */
static double highest_shift(const double *series)
{
	double most = 0;

	for (uint32_t first = 0; first < COUNT; first += 4)
		for (uint32_t count = 8; first + count <= COUNT && count < COUNT; count += 4)
			most = fmax(most, shift_of(series, first, count));
	return most;
}

static void noise_that_lasts_has_no_other_level(void **state)
{
	static const double stays[] = {0, 0.5, 0.9, 0.95};

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++)
		for (size_t i = 0; i < 4; i++) {
			double series[COUNT];

			make_noise(series, stays[i], seed);
			assert_true(highest_shift(series) < 8);
		}
}

static void another_level_is_found_by_its_length_or_its_edges(void **state)
{
	static const struct {
		double stays, level;
	} cases[] = {{0, 4}, {0.5, 8}, {0.95, 14}};

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++)
		for (size_t i = 0; i < 3; i++) {
			double series[COUNT];

			make_noise(series, cases[i].stays, seed);
			for (uint32_t j = 30; j < 70; j++)
				series[j] += cases[i].level;
			assert_true(shift_of(series, 30, 40) > 8);
			assert_true(shift_of(series, 0, 20) < 8);
		}
}

static void a_single_value_is_no_level(void **state)
{
	double series[COUNT] = {0};

	(void)state;
	make_noise(series, 0, 7);
	series[30] = 1000;
	assert_true(shift_of(series, 30, 8) < 5);
	assert_true(shift_of(series, 29, 4) < 5);
}

static void without_noise_each_level_is_sure(void **state)
{
	double series[COUNT] = {0};

	(void)state;
	for (uint32_t i = 10; i < 20; i++)
		series[i] = 1;
	assert_true(isinf(shift_of(series, 10, 10)));
	assert_near(shift_of((double[COUNT]){0}, 10, 10), 0);
}

static void a_part_needs_a_rest(void **state)
{
	double series[COUNT] = {0}, room[3 * COUNT];

	(void)state;
	assert_near(shift_of(series, 0, COUNT), -1);
	assert_near(shift_of(series, 5, 0), -1);
	assert_near(level_shift_z(series, LEVEL_SHIFT_FEWEST - 1, 0, 4, room), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_of_neighbours_and_of_those_apart_are_added),
		cmocka_unit_test(neighbours_that_are_alike_count_as_fewer),
		cmocka_unit_test(noise_that_lasts_has_no_other_level),
		cmocka_unit_test(another_level_is_found_by_its_length_or_its_edges),
		cmocka_unit_test(a_single_value_is_no_level),
		cmocka_unit_test(without_noise_each_level_is_sure),
		cmocka_unit_test(a_part_needs_a_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
