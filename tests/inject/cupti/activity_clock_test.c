/* CUPTI's clock and others in its place: what a record's times are by the system's. */
#include "inject/cupti/activity_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "inject/cupti/cupti_library.h"
#include "inject/base/monotonic.h"

#define HOUR_NS  (3600 * 1000000000ull)
#define DAY_NS   (24 * HOUR_NS)
#define EPOCH_NS (400 * DAY_NS)

static struct {
	double units;      /* a ns */
	uint64_t since_ns; /* its zero, by the system's clock */
	uint64_t stopped;  /* all that it shows; 0: it runs */
	int result;
} fake;

static uint64_t fake_time(uint64_t time_ns)
{
	return (uint64_t)((double)(time_ns - fake.since_ns) * fake.units);
}

static int fake_timestamp(uint64_t *timestamp)
{
	*timestamp = fake.stopped ? fake.stopped : fake_time(realtime_ns());
	return fake.result;
}

static const struct cupti_library library = {.get_timestamp = fake_timestamp};

static int set_up(void **state)
{
	(void)state;
	activity_clock_reset();
	fake.units = 1;
	fake.since_ns = 0;
	fake.stopped = 0;
	fake.result = CUPTI_ABI_SUCCESS;
	return 0;
}

static struct activity_clock look(void)
{
	struct activity_clock clock;

	activity_clock_look(&library);
	activity_clock_get(&clock);
	return clock;
}

static void count_cycles(void)
{
	fake.since_ns = realtime_ns() - HOUR_NS;
	fake.units = 2.1;
}

/* A double holds 400 days of ns to 8 ns. */
static void assert_near(uint64_t a, uint64_t b, uint64_t ns)
{
	assert_in_range(a, b - ns, b + ns);
}

static void times_of_the_systems_clock_stay(void **state)
{
	struct activity_clock clock = look();
	uint64_t now_ns = realtime_ns(), start = now_ns - 5000, end = now_ns;

	(void)state;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, now_ns - 5000);
	assert_int_equal(end, now_ns);
	assert_int_equal(activity_clock_realtime(&clock, 7), 7);
}

static void times_in_cycles_become_the_systems(void **state)
{
	uint64_t now_ns, start, end;
	struct activity_clock clock;

	(void)state;
	look();
	count_cycles();
	clock = look();
	now_ns = realtime_ns();
	start = fake_time(now_ns - 1000000);
	end = start + 2100;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_near(start, now_ns - 1000000, 100000);
	assert_near(end - start, 1000, 10);
}

/* A thousand seconds' worth of looks, each by the one before. */
static void longer_it_is_looked_at_the_better_it_is_known(void **state)
{
	uint64_t now_ns, start, end;
	struct activity_clock clock;

	(void)state;
	count_cycles();
	look();
	/* As if the first look had been long ago. */
	for (uint64_t begin_ns = realtime_ns(); realtime_ns() < begin_ns + 20000000;)
		clock = look();
	now_ns = realtime_ns();
	start = fake_time(now_ns);
	end = start + 2100000000;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_near(start, now_ns, 100000);
	assert_near(end - start, 1000000000, 1000000);
}

static void what_was_recorded_before_the_change_stays(void **state)
{
	struct activity_clock clock;
	uint64_t before_ns = realtime_ns(), start = before_ns - 100, end = before_ns;

	(void)state;
	look();
	count_cycles();
	clock = look();
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, before_ns - 100);
	assert_int_equal(end, before_ns);
}

static void systems_clock_may_come_back(void **state)
{
	struct activity_clock clock;
	uint64_t start, end;

	(void)state;
	count_cycles();
	look();
	fake.units = 1;
	fake.since_ns = 0;
	clock = look();
	start = realtime_ns();
	end = start + 1000;
	uint64_t same = start;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, same);
	assert_int_equal(end - start, 1000);
}

static void another_clock_may_follow_another(void **state)
{
	struct activity_clock clock;
	uint64_t now_ns, start, end;

	(void)state;
	count_cycles();
	look();
	fake.units = 0.025; /* a counter of 25 MHz */
	clock = look();
	now_ns = realtime_ns();
	start = fake_time(now_ns);
	end = start + 25;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_near(start, now_ns, 100000);
	assert_near(end - start, 1000, 20);
}

static void clock_of_another_epoch_is_moved(void **state)
{
	struct activity_clock clock;
	uint64_t now_ns, start, end;

	(void)state;
	fake.since_ns = realtime_ns() - EPOCH_NS;
	clock = look();
	now_ns = realtime_ns();
	start = fake_time(now_ns);
	end = start + 1000;
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_near(start, now_ns, 100000);
	assert_near(end - start, 1000, 20);
}

static void times_of_no_known_clock_are_refused(void **state)
{
	struct activity_clock clock = look();
	uint64_t start = 57702168229, end = 57744169117; /* cycles, before anybody has looked */
	uint64_t zero = 0, now_ns = realtime_ns(), later_ns = now_ns + 2 * DAY_NS;

	(void)state;
	assert_false(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, 57702168229);
	assert_false(activity_clock_convert(&clock, &zero, &now_ns));
	assert_false(activity_clock_convert(&clock, &now_ns, &later_ns));
	count_cycles();
	clock = look();
	start = end = UINT64_MAX;
	assert_false(activity_clock_convert(&clock, &start, &end));
}

static void clock_that_stands_still_or_is_unknown_changes_nothing(void **state)
{
	struct activity_clock clock;
	uint64_t start = 5, end = 6;

	(void)state;
	fake.stopped = realtime_ns() + HOUR_NS;
	clock = look();
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, 5);
	assert_int_equal(end, 6);
	activity_clock_reset();
	fake.result = CUPTI_ABI_NOT_SUPPORTED;
	clock = look();
	assert_true(activity_clock_convert(&clock, &start, &end));
	assert_int_equal(start, 5);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(times_of_the_systems_clock_stay),
		TEST(times_in_cycles_become_the_systems),
		TEST(longer_it_is_looked_at_the_better_it_is_known),
		TEST(what_was_recorded_before_the_change_stays),
		TEST(systems_clock_may_come_back),
		TEST(another_clock_may_follow_another),
		TEST(clock_of_another_epoch_is_moved),
		TEST(times_of_no_known_clock_are_refused),
		TEST(clock_that_stands_still_or_is_unknown_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
