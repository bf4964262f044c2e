#include "base/clock.h"

#include "tests/support/cmocka_test.h"

#define S 1000000000ull

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static uint64_t monotonic_ns, realtime_ns;
static uint32_t reading;

/* Each reading takes as long as took_ns says for its turn; the two clocks go at one speed. */
static const uint64_t took_ns[] = {900, 900, 900, 7000, 40, 20};

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns = took_ns[reading++ % (sizeof(took_ns) / sizeof(*took_ns))];

	monotonic_ns += ns;
	realtime_ns += ns;
	ns = clock == CLOCK_MONOTONIC ? monotonic_ns : realtime_ns;
	*now = (struct timespec){(time_t)(ns / S), (long)(ns % S)};
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	reading = 0;
	monotonic_ns = 5 * S;
	realtime_ns = 1700000000 * S + 999999000;
	return 0;
}

static void each_clock_is_read_in_nanoseconds(void **state)
{
	(void)state;
	assert_true(clock_now_ns() == 5 * S + 900);
	assert_true(clock_realtime_ns() == 1700000000 * S + 999999000 + 1800);
}

static void the_offset_is_that_of_the_quickest_reading(void **state)
{
	(void)state;
	const int64_t offset_ns = (int64_t)(realtime_ns - monotonic_ns);

	/* The best reading was taken 40 ns after the first of the other clock, 10 ns behind the middle. */
	assert_int_equal(clock_realtime_offset_ns() - offset_ns, 10);
}

static void nanoseconds_carry_into_seconds(void **state)
{
	(void)state;
	struct timespec until = clock_in(CLOCK_REALTIME, 2 * S + 100);

	assert_int_equal(until.tv_sec, 1700000003);
	assert_int_equal(until.tv_nsec, 0);
	until = clock_in(CLOCK_MONOTONIC, 0);
	assert_int_equal(until.tv_sec, 5);
	assert_int_equal(until.tv_nsec, 1800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_clock_is_read_in_nanoseconds, set_up),
		cmocka_unit_test_setup(the_offset_is_that_of_the_quickest_reading, set_up),
		cmocka_unit_test_setup(nanoseconds_carry_into_seconds, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
