#include "proto/options/window_options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void options_survive_their_text(void **state)
{
	static const struct window_options cases[] = {
		{0},
		{.from_ns = 1},
		{.from_ns = UINT64_MAX, .until_ns = UINT64_MAX},
		{.on_ns = 1, .period_ns = UINT64_MAX, .dormant = true},
		{.range = WINDOW_RANGE_PROFILER, .until_ns = 5},
		{.range = WINDOW_RANGE_PROFILER, .every = 1},
		{.range = WINDOW_RANGE_NVTX,
		 .every = WINDOW_OPTIONS_EVERY_MAX,
		 .range_name = "step,every=3"},
		{.range = WINDOW_RANGE_NVTX,
		 .range_name = "a,range=profiler, \"b\"",
		 .dormant = true},
	};
	char text[WINDOW_OPTIONS_SIZE];
	struct window_options parsed;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		window_options_format(&cases[i], text);
		assert_int_equal(window_options_parse(text, &parsed), 0);
		assert_memory_equal(&parsed, &cases[i], sizeof(parsed));
	}
}

static void the_longest_text_has_room(void **state)
{
	struct window_options options = {.from_ns = UINT64_MAX,
					 .until_ns = UINT64_MAX,
					 .on_ns = UINT64_MAX,
					 .period_ns = UINT64_MAX,
					 .dormant = true,
					 .every = WINDOW_OPTIONS_EVERY_MAX,
					 .range = WINDOW_RANGE_NVTX};
	char text[WINDOW_OPTIONS_SIZE];
	struct window_options parsed;

	(void)state;
	memset(options.range_name, 'x', WINDOW_OPTIONS_NAME_MAX);
	window_options_format(&options, text);
	assert_true(strlen(text) < sizeof(text));
	assert_int_equal(window_options_parse(text, &parsed), 0);
	assert_memory_equal(&parsed, &options, sizeof(parsed));
}

static void other_words_are_refused(void **state)
{
	static const char *const bad[] = {
		"from",
		"from=",
		"from=x",
		"from=1,",
		"from=1,from=2",
		"until=-1",
		"duty=1",
		"duty=2/1",
		"duty=0/1",
		"dormantly",
		"dormant,dormant",
		"every=0",
		"every=1000000001",
		"every=2,every=2",
		"range=",
		"range=nvtx:",
		"range=other",
		"range=profiler,dormant",
		"from=18446744073709551616",
		",",
		" from=1",
	};
	const struct window_options none = {0};
	struct window_options options;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&options, 1, sizeof(options));
		assert_int_equal(window_options_parse(bad[i], &options), -EINVAL);
		assert_memory_equal(&options, &none, sizeof(options));
	}
	assert_int_equal(window_options_parse(NULL, &options), 0);
	assert_memory_equal(&options, &none, sizeof(options));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_survive_their_text),
		cmocka_unit_test(the_longest_text_has_room),
		cmocka_unit_test(other_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
