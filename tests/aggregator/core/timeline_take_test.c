/* A device's timeline that takes what was known before anyone knew the device: against a map of each nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/stream_timeline.h"

#define TICKS 4000u

static struct stream_timeline *device, *earlier;
static bool busy[TICKS];
static uint64_t records, sum_ns;

static void make(uint32_t intervals_max)
{
	device = stream_timeline_create(intervals_max);
	earlier = stream_timeline_create(intervals_max);
	assert_true(device && earlier);
	memset(busy, 0, sizeof(busy));
	records = sum_ns = 0;
}

static int tear_down(void **state)
{
	(void)state;
	stream_timeline_destroy(device);
	stream_timeline_destroy(earlier);
	device = earlier = NULL;
	return 0;
}

static void add(struct stream_timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	assert_int_equal(stream_timeline_add(timeline, start_ns, end_ns), 0);
	for (uint64_t ns = start_ns; ns < end_ns; ns++)
		busy[ns] = true;
	records++;
	sum_ns += end_ns - start_ns;
}

static void take(void)
{
	struct timeline_sums sums;

	assert_int_equal(stream_timeline_take(device, earlier), 0);
	stream_timeline_sums(earlier, &sums);
	assert_int_equal(sums.records + sums.sum_ns + sums.last_ns + sums.late, 0);
	assert_int_equal(stream_timeline_busy_ns(earlier), 0);
	stream_timeline_sums(device, &sums);
	assert_int_equal(sums.records, records);
	assert_int_equal(sums.sum_ns, sum_ns);
}

static uint64_t busy_ns(void)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < TICKS; i++)
		ns += busy[i];
	return ns;
}

static struct timeline_sums sums_of(const struct stream_timeline *timeline)
{
	struct timeline_sums sums;

	stream_timeline_sums(timeline, &sums);
	return sums;
}

static void a_fresh_device_has_it_all(void **state)
{
	(void)state;
	make(64);
	take();
	assert_int_equal(sums_of(device).records, 0);
	add(earlier, 10, 20);
	add(earlier, 15, 30);
	add(earlier, 50, 60);
	take();
	assert_int_equal(stream_timeline_busy_ns(device), 30);
	assert_int_equal(stream_timeline_idle_ns(device), 20);
	assert_int_equal(sums_of(device).first_ns, 10);
	assert_int_equal(sums_of(device).last_ns, 60);
	add(earlier, 70, 75); /* goes on as one that is new */
	assert_int_equal(stream_timeline_busy_ns(earlier), 5);
	take();
	assert_int_equal(stream_timeline_busy_ns(device), 35);
}

static void both_agree_with_a_map_in_any_order(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		make(1u << 12);
		for (int i = 0; i < 200; i++) {
			seed = seed * 1664525u + 1013904223u;
			const uint64_t start_ns = (seed >> 8) % (TICKS - 20);

			add(seed >> 31 ? device : earlier, start_ns, start_ns + (seed >> 3) % 20);
		}
		take();
		assert_int_equal(stream_timeline_busy_ns(device), busy_ns());
		assert_int_equal(sums_of(device).late, 0);
		tear_down(NULL);
	}
}

static void close_some(struct stream_timeline *timeline, uint64_t from_ns)
{
	while (sums_of(timeline).closed_ns == 0) {
		add(timeline, from_ns, from_ns + 1);
		from_ns += 2;
	}
}

static void what_is_closed_stays_busy_if_the_device_follows(void **state)
{
	(void)state;
	make(64);
	close_some(earlier, 10);
	add(device, 3000, 3010);
	take();
	assert_int_equal(stream_timeline_busy_ns(device), busy_ns());
	assert_int_equal(sums_of(device).late, 0);
	assert_int_equal(sums_of(device).first_ns, 10);
	add(device, 2000, 2010);
	assert_int_equal(stream_timeline_busy_ns(device), busy_ns());
}

static void what_is_closed_is_late_if_nobody_knows_what_else_ran(void **state)
{
	(void)state;
	make(64);
	close_some(earlier, 10);
	const uint64_t closed_ns = sums_of(earlier).closed_ns;
	add(device, 5, 6);
	take();
	assert_int_equal(sums_of(device).late_ns, closed_ns);
	assert_int_equal(stream_timeline_busy_ns(device), busy_ns() - closed_ns);
}

static void what_lies_before_the_devices_horizon_is_late(void **state)
{
	(void)state;
	make(64);
	close_some(device, 101);
	const uint64_t horizon_ns = sums_of(device).horizon_ns;
	add(earlier, 10, 20);
	add(earlier, horizon_ns - 1, horizon_ns + 1);
	take();
	assert_int_equal(sums_of(device).late, 2);
	assert_int_equal(sums_of(device).late_ns, 11);
	assert_int_equal(stream_timeline_busy_ns(device), busy_ns() - 10);
}

static void time_that_was_not_captured_is_no_more_than_what_is_idle(void **state)
{
	(void)state;
	make(64);
	add(device, 0, 10);
	add(device, 90, 100);
	stream_timeline_uncaptured(device, 80);
	add(earlier, 30, 50);
	take();
	assert_int_equal(sums_of(device).uncaptured_ns, 60);
	assert_int_equal(stream_timeline_idle_ns(device), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_fresh_device_has_it_all, tear_down),
		cmocka_unit_test_teardown(both_agree_with_a_map_in_any_order, tear_down),
		cmocka_unit_test_teardown(what_is_closed_stays_busy_if_the_device_follows,
					  tear_down),
		cmocka_unit_test_teardown(what_is_closed_is_late_if_nobody_knows_what_else_ran,
					  tear_down),
		cmocka_unit_test_teardown(what_lies_before_the_devices_horizon_is_late, tear_down),
		cmocka_unit_test_teardown(time_that_was_not_captured_is_no_more_than_what_is_idle,
					  tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
