#include "report/compare/change_writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct check_step slower = {
	.is_known = true,
	.before_ns = 47e6,
	.after_ns = 52.1e6,
	.change = 0.125,
	.low = NAN,
	.high = NAN,
	.kernels_ns = 300e3,
	.idle_ns = 4.8e6,
	.line = "train.py:load_batch:14",
	.state = CHECK_NOT_JUDGED,
};

static struct report_tree tree = {
	.launches = 64,
	.cost = {.threads = {1, 1000000000}, .calls = {64, 20000000}, .metered = 1}};

static void assert_has(const struct check_step *step, bool as_json, const char *part)
{
	struct change_row row = {.name = "gemm", .before = {1, 10, 0}, .after = {1, 12, 0}};
	struct change_table table = {
		.rows = &row, .nr_rows = 1, .before = row.before, .after = row.after};
	const struct change_report report = {.table = &table,
					     .before = {.label = "old"},
					     .after = {.label = "new", .tree = &tree},
					     .scale = {RUN_STEPS, 1, 1, 1},
					     .step = *step,
					     .by = "kernel"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(as_json ? change_writer_json(out, &report)
				 : change_writer_table(out, &report, NULL, 0),
			 0);
	fclose(out);
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
	free(text);
}

static void the_time_of_a_step_is_in_the_table_and_in_json(void **state)
{
	(void)state;
	assert_has(&slower, false,
		   "the run takes 52.100 ms a step instead of 47.000 ms (+12.50 %): +300.000 us in "
		   "kernels, +4.800 ms idle on GPU 0, most of it in train.py:load_batch:14\n");
	assert_has(&slower, true,
		   "\"step\":{\"before_ns\":47000000,\"after_ns\":52100000,\"change\":0.125,"
		   "\"low\":null,\"high\":null,\"kernels_ns\":300000,\"idle_ns\":4800000,"
		   "\"line\":\"train.py:load_batch:14\",\"noise_of\":\"nothing\","
		   "\"verdict\":\"not judged\"},");
}

static void a_step_that_is_not_known_is_null(void **state)
{
	const struct check_step none = {0};

	(void)state;
	assert_has(&none, true, "\"factor\":1,\"step\":null,");
	assert_has(&none, false, "before  old\nafter   new\n");
}

static void each_profile_says_what_profiling_cost(void **state)
{
	const struct check_step none = {0};

	(void)state;
	assert_has(&none, false,
		   "after   new\n        profiling cost: 2.00 % of the launching threads' time");
	assert_has(&none, true, "\"cost\":null,\"units\"");
	assert_has(&none, true, "\"cost\":{\"guest_ns\":20000000,\"threads\":1,");
}

static void rows_that_do_not_differ_are_left_out(void **state)
{
	struct change_row rows[] = {{.name = "gemm", .before = {1, 10, 0}, .after = {2, 24, 0}},
				    {.name = "norm", .before = {1, 10, 0}, .after = {2, 20, 0}},
				    {.name = "adam", .before = {1, 30, 0}, .after = {2, 60, 0}}};
	struct change_table table = {.rows = rows, .nr_rows = 3};
	const struct change_report report = {.table = &table,
					     .before = {.label = "old"},
					     .after = {.label = "new"},
					     .scale = {RUN_STEPS, 1, 2, 2},
					     .by = "kernel"};
	char *text = NULL;
	size_t size;

	(void)state;
	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text, &size);

		table.rows = rows + i;
		table.nr_rows = i ? 2 : 3;
		assert_int_equal(change_writer_table(out, &report, NULL, 0), 0);
		fclose(out);
		assert_non_null(strstr(text, i ? "\nno difference by kernel: 2 rows\n"
					       : " 2 rows without a difference\n"));
		assert_int_equal(strstr(text, "gemm") == NULL, i);
		assert_null(strstr(text, "norm"));
		free(text);
	}
}

/* Frames that launch renamed kernels as often, for as long, do not differ, but the work does. */
static void no_difference_of_frames_does_not_hide_that_of_kernels(void **state)
{
	struct change_row frame = {.name = "main", .before = {1, 10, 0}, .after = {2, 20, 0}};
	struct change_row kernels[] = {{.name = "old", .before = {1, 10, 0}},
				       {.name = "new", .after = {2, 20, 0}},
				       {.name = "norm", .before = {1, 5, 0}, .after = {2, 10, 0}}};
	const struct change_table table = {.rows = &frame, .nr_rows = 1};
	const struct change_table by_kernel = {.rows = kernels, .nr_rows = 3};
	struct change_report report = {.table = &table,
				       .before = {.label = "old"},
				       .after = {.label = "new"},
				       .scale = {RUN_STEPS, 1, 2, 2},
				       .by = "frame",
				       .nr_kernels = change_writer_count(&by_kernel, 2)};
	char *text = NULL;
	size_t size;

	(void)state;
	assert_int_equal(report.nr_kernels, 2);
	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text, &size);

		report.nr_kernels = i ? 0 : 2;
		assert_int_equal(change_writer_table(out, &report, NULL, 0), 0);
		fclose(out);
		assert_non_null(strstr(text, i ? "\nno difference by frame: 1 row\n"
					       : "\nno difference by frame: 1 row, but 2 rows "
						 "differ by kernel (--by kernel)\n"));
		free(text);
	}
}

/* Returns the output, which the caller owns: free(). */
static char *sampled(enum run_unit unit, bool as_json)
{
	struct change_row row = {.name = "[stall]wait", .before = {5, 10, 0}, .after = {6, 14, 0}};
	struct change_table table = {
		.rows = &row, .nr_rows = 1, .before = row.before, .after = row.after};
	const struct change_report report = {.table = &table,
					     .before = {.label = "old"},
					     .after = {.label = "new"},
					     .scale = {unit, 1, 1, 1},
					     .by = "kernel",
					     .heading = "kernel > stall",
					     .has_samples = true};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(as_json ? change_writer_json(out, &report)
				 : change_writer_table(out, &report, NULL, 0),
			 0);
	fclose(out);
	return text;
}

static void a_sample_is_no_launch(void **state)
{
	char *whole = sampled(RUN_WHOLE, false), *steps = sampled(RUN_STEPS, false),
	     *json = sampled(RUN_LAUNCHES, true);

	(void)state;
	assert_non_null(strstr(whole, "      change   relative      before       after "
				      "sample change  kernel > stall\n"));
	assert_null(strstr(whole, "/launch"));
	assert_non_null(strstr(whole, " ns      +20.00 %  [stall]wait\n"));
	assert_non_null(strstr(steps, "before/step"));
	assert_non_null(strstr(json, "\"before\":{\"count\":5,\"ns\":10,\"unit_ns\":null,"));
	free(whole);
	free(steps);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_a_step_is_in_the_table_and_in_json),
		cmocka_unit_test(a_step_that_is_not_known_is_null),
		cmocka_unit_test(each_profile_says_what_profiling_cost),
		cmocka_unit_test(rows_that_do_not_differ_are_left_out),
		cmocka_unit_test(no_difference_of_frames_does_not_hide_that_of_kernels),
		cmocka_unit_test(a_sample_is_no_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
