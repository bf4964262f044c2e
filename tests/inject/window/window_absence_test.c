#include "inject/window/window_absence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "proto/absence.h"

static const char *const names[] = {"step", "forward"};
static uint64_t nr_starts; /* of the profiler */

static void assert_text(const char *options_text, uint32_t nr_names, const char *words)
{
	const struct window_absence_facts facts = {
		.now_ns = 5000000000u,
		.names = names,
		.nr_names = nr_names,
		.nr_starts = nr_starts,
	};
	struct window_options options;
	char text[WINDOW_ABSENCE_SIZE];

	assert_int_equal(window_options_parse(options_text, &options), 0);
	const char *line = window_absence_text(&options, &facts, text, sizeof(text));
	if (!words) {
		assert_null(line);
		return;
	}
	assert_non_null(line);
	assert_true(absence_is_chosen(line));
	assert_non_null(strstr(line, words));
}

static void the_whole_run_lacks_nothing(void **state)
{
	(void)state;
	assert_text("", 0, NULL);
}

static void a_delay_that_was_too_long_says_by_how_much(void **state)
{
	(void)state;
	assert_text("from=7500000000", 0, "2500 ms before its capture was to begin");
	/* Also where a range was to follow. */
	assert_text("from=7500000000,range=profiler", 0, "before its capture was to begin");
}

static void times_that_did_not_fit_are_told_apart(void **state)
{
	(void)state;
	assert_text("until=1000000000", 0, "(--duration) was over");
	assert_text("duty=20000000/60000000", 0, "between two windows of --duty");
}

static void a_range_that_never_came_names_those_that_did(void **state)
{
	(void)state;
	assert_text("range=nvtx:nosuch", 2,
		    "the NVTX range 'nosuch' was never entered (it opened: step, forward)");
	assert_text("range=nvtx:nosuch", 0, "(it opened no NVTX range at all)");
	assert_text("range=profiler", 0, "cudaProfilerStart was never called");
	assert_text("range=control", 0, "flamegrid control start was not given");
}

static void a_job_of_too_few_steps_says_which_it_waited_for(void **state)
{
	(void)state;
	assert_text("every=100,range=nvtx:step", 2, "before its step 100");
	assert_text("every=100,range=nvtx:nosuch", 2, "'nosuch' was never entered");
	nr_starts = 1;
	assert_text("every=100,range=profiler", 0,
		    "before its step 100 (--every-steps counts calls of cudaProfilerStart; with "
		    "--step-range NAME, ranges)");
	nr_starts = 0;
	assert_text("every=100,range=profiler", 0, "cudaProfilerStart was never called");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_run_lacks_nothing),
		cmocka_unit_test(a_delay_that_was_too_long_says_by_how_much),
		cmocka_unit_test(times_that_did_not_fit_are_told_apart),
		cmocka_unit_test(a_range_that_never_came_names_those_that_did),
		cmocka_unit_test(a_job_of_too_few_steps_says_which_it_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
