#include "node-agent/kernel/kernel_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S 1000000000ll

static void both_clocks_are_read(void **state)
{
	struct kernel_clock clock;

	(void)state;
	kernel_clock_parse("monotonic           5         0\nboottime          -86400 250000000\n",
			   &clock);
	assert_true(clock.monotonic_ns == 5 * S);
	assert_true(clock.boottime_ns == -86400 * S + S / 4);
}

static void what_is_not_there_or_cannot_be_is_no_offset(void **state)
{
	static const char *const texts[] = {
		"",
		"monotonic",
		"monotonic 5",
		"monotonic five 0",
		"monotonic 5 1000000000",
		"monotonic 5 -1",
		"monotonic 9223372036854775807 0\nboottime -9223372036854775807 0",
	};
	struct kernel_clock clock;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		clock = (struct kernel_clock){1, 1};
		kernel_clock_parse(texts[i], &clock);
		assert_true(clock.monotonic_ns == 0);
		assert_true(clock.boottime_ns == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_clocks_are_read),
		cmocka_unit_test(what_is_not_there_or_cannot_be_is_no_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
