#include "aggregator/core/kept_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Other programs may read profiles: the windows must never change. */
static void the_windows_are_always_the_same(void **state)
{
	uint32_t counts[KEPT_WINDOW_LEVELS] = {0}, first = 0;

	(void)state;
	for (uint64_t window = 0; window < 1024; window++)
		counts[kept_window_level(window)]++;
	for (uint64_t window = 1; !first; window++)
		if (kept_window_level(window) >= 10)
			first = (uint32_t)window;
	assert_int_equal(kept_window_level(0), KEPT_WINDOW_LEVELS - 1);
	assert_int_equal(counts[0], 523);
	assert_int_equal(counts[1], 263);
	assert_int_equal(counts[2], 120);
	assert_int_equal(first, 2584);
}

static void each_level_keeps_half_of_the_one_below(void **state)
{
	uint64_t kept[KEPT_WINDOW_LEVELS] = {0};
	const uint64_t windows = 1u << 22;

	(void)state;
	for (uint64_t window = 0; window < windows; window++)
		for (uint32_t level = 0; level <= kept_window_level(window);
		     level++)
			kept[level]++;
	assert_int_equal(kept[0], windows);
	for (uint32_t level = 1; level <= 10; level++) {
		double part = (double)kept[level] / (double)(windows >> level);

		if (part < 0.97 || part > 1.03)
			fail_msg("level %u: %.3f of what is expected", level, part);
	}
}

static void windows_at_regular_times_are_kept_like_others(void **state)
{
	static const uint64_t periods[] = {2, 10, 64, 100, 1024};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		uint32_t kept = 0;

		for (uint64_t n = 1; n <= 16384; n++)
			kept += kept_window_level(n * periods[i]) >= 4;
		if (kept < 900 || kept > 1150)
			fail_msg("of each %uth window %u of 16384 are kept", (unsigned)periods[i],
				 kept);
	}
}

static void a_time_has_the_highest_level_of_its_windows(void **state)
{
	(void)state;
	for (uint64_t from = 1000; from < 1100; from++) {
		uint32_t highest = 0;

		for (uint64_t to = from; to < from + 50; to++) {
			uint32_t level = kept_window_level(to);

			highest = level > highest ? level : highest;
			assert_int_equal(kept_window_level_of(from, to), highest);
		}
	}
	assert_int_equal(kept_window_level_of(5, 5000),
			 KEPT_WINDOW_LEVELS - 1);
	assert_int_equal(kept_window_level_of(0, UINT64_MAX), KEPT_WINDOW_LEVELS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_windows_are_always_the_same),
		cmocka_unit_test(each_level_keeps_half_of_the_one_below),
		cmocka_unit_test(windows_at_regular_times_are_kept_like_others),
		cmocka_unit_test(a_time_has_the_highest_level_of_its_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
