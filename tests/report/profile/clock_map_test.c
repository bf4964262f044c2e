#include "report/profile/clock_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S         1000000000ll
#define US        1000ll
#define COUNT(of) ((uint32_t)(sizeof(of) / sizeof((of)[0])))

/* A clock that is five seconds ahead and gains 10 ppm; another, behind; a third that was compared with something
 * else. */
static const struct clock_offset offsets[] = {
	{.host = 1,
	 .reference = 7,
	 .time_ns = 100 * S,
	 .offset_ns = 5 * S,
	 .bound_ns = 40 * US,
	 .realtime_offset_ns = 900 * S,
	 .reference_realtime_offset_ns = 904 * S},
	{.host = 1,
	 .reference = 7,
	 .time_ns = 130 * S,
	 .offset_ns = 5 * S + 300 * US,
	 .bound_ns = 50 * US,
	 .realtime_offset_ns = 900 * S,
	 .reference_realtime_offset_ns = 904 * S},
	{.host = 1,
	 .reference = 7,
	 .time_ns = 160 * S,
	 .offset_ns = 5 * S + 600 * US,
	 .bound_ns = 30 * US,
	 .realtime_offset_ns = 900 * S,
	 .reference_realtime_offset_ns = 904 * S},
	{.host = 2, .reference = 7, .time_ns = 10 * S, .offset_ns = -3 * S, .bound_ns = 20 * US},
	{.host = 2, .reference = 9, .time_ns = 10 * S, .offset_ns = 77 * S, .bound_ns = 20 * US},
	{.host = 3, .reference = 9, .time_ns = 10 * S, .offset_ns = 78 * S, .bound_ns = 20 * US},
};

static struct clock_map *map;

static int set_up(void **state)
{
	(void)state;
	map = clock_map_create(offsets, COUNT(offsets));
	assert_non_null(map);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	clock_map_destroy(map);
	return 0;
}

static struct clock_map_place place_of(uint32_t host, uint64_t time_ns)
{
	struct clock_map_place place;

	assert_true(clock_map_find(map, host, time_ns, &place));
	return place;
}

static void a_comparison_says_what_it_said(void **state)
{
	struct clock_map_place place = place_of(1, 130 * S);

	(void)state;
	assert_int_equal(place.offset_ns, 5 * S + 300 * US);
	assert_int_equal(place.bound_ns, 50 * US);
	assert_int_equal(place.realtime_ns, S + 300 * US);
	assert_int_equal(place.reference_realtime_offset_ns, 904 * S);
	assert_int_equal(place_of(2, 10 * S).realtime_ns, 0); /* not known */
}

static void between_two_a_clock_goes_evenly(void **state)
{
	struct clock_map_place place = place_of(1, 140 * S);

	(void)state;
	assert_int_equal(place.offset_ns, 5 * S + 400 * US);
	assert_int_equal(place.bound_ns,
			 50 * US + 150 * US); /* the worse one, and 10 s at 15 ppm */
}

static void outside_of_them_the_bound_grows(void **state)
{
	(void)state;
	assert_int_equal(place_of(1, 90 * S).offset_ns, 5 * S);
	assert_int_equal(place_of(1, 90 * S).bound_ns, 40 * US + 150 * US);
	assert_int_equal(place_of(1, 1160 * S).offset_ns, 5 * S + 600 * US);
	assert_int_equal(place_of(1, 1160 * S).bound_ns, 30 * US + 15000 * US);
	assert_int_equal(place_of(2, 0).bound_ns, 20 * US + 150 * US);
	assert_true(place_of(1, UINT64_MAX).bound_ns > 365ull * 86400 * 15 * US);
}

static void the_reference_of_most_comparisons_counts(void **state)
{
	struct clock_map_place place;
	uint32_t count;

	(void)state;
	assert_int_equal(clock_map_reference(map), 7);
	assert_int_equal(place_of(2, 10 * S).offset_ns, -3 * S);
	assert_false(clock_map_find(map, 3, 10 * S, &place));
	assert_null(clock_map_host(map, 3, &count));
	assert_non_null(clock_map_host(map, 1, &count));
	assert_int_equal(count, 3);
	assert_false(clock_map_find(map, 4, 10 * S, &place));
}

static void drift_is_known_from_two_that_are_apart(void **state)
{
	int64_t drift_ppb;
	uint64_t bound_ppb;

	(void)state;
	assert_true(clock_map_drift(map, 1, &drift_ppb, &bound_ppb));
	assert_int_equal(drift_ppb, 10000);
	assert_int_equal(bound_ppb, 70 * US * S / (60 * S) + 1);
	assert_false(clock_map_drift(map, 2, &drift_ppb, &bound_ppb));
	assert_int_equal(drift_ppb, 0);
}

static void extreme_offsets_do_not_overflow(void **state)
{
	const int64_t most = INT64_MAX / 4;
	const struct clock_offset extreme[] = {
		{.host = 1,
		 .reference = 1,
		 .time_ns = 0,
		 .offset_ns = -most,
		 .bound_ns = 1,
		 .realtime_offset_ns = -most,
		 .reference_realtime_offset_ns = most},
		{.host = 1,
		 .reference = 1,
		 .time_ns = (uint64_t)most,
		 .offset_ns = most,
		 .bound_ns = 1,
		 .realtime_offset_ns = most,
		 .reference_realtime_offset_ns = -most},
	};
	struct clock_map *own = clock_map_create(extreme, COUNT(extreme));
	struct clock_map_place place;
	int64_t drift_ppb;
	uint64_t bound_ppb;

	(void)state;
	assert_true(clock_map_find(own, 1, (uint64_t)most / 2, &place));
	assert_in_range(place.offset_ns + 2, 0, 4);
	assert_true(clock_map_drift(own, 1, &drift_ppb, &bound_ppb));
	assert_int_equal(drift_ppb, 2 * S);
	clock_map_destroy(own);
}

static void a_map_of_nothing_knows_nothing(void **state)
{
	struct clock_map *own = clock_map_create(NULL, 0);
	struct clock_map_place place;

	(void)state;
	assert_int_equal(clock_map_reference(own), 0);
	assert_false(clock_map_find(own, 1, 5, &place));
	clock_map_destroy(own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_comparison_says_what_it_said),
		TEST(between_two_a_clock_goes_evenly),
		TEST(outside_of_them_the_bound_grows),
		TEST(the_reference_of_most_comparisons_counts),
		TEST(drift_is_known_from_two_that_are_apart),
		cmocka_unit_test(extreme_offsets_do_not_overflow),
		cmocka_unit_test(a_map_of_nothing_knows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
