#include "report/compare/run_check.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

#include "aggregator/store/database.h"
#include "report/model/report_build.h"
#include "tests/report/straggler/straggler_fixture.h"

static void a_run_against_itself_is_the_same(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){0});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
	assert_int_equal(run_fixture.result->nr_rows, 3);
	assert_int_equal(run_fixture.result->unit, RUN_STEPS);
	assert_true(run_fixture_row("planted")->change == 0);
	assert_true(run_fixture_row("gemm")->resolves == 0);
}

static void a_planted_percent_is_found_and_named(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.planted_ns = 1100, .steps = 90});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_REGRESSED);
	assert_int_equal(run_fixture.result->nr_regressed, 1);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_REGRESSED);
	assert_int_equal(run_fixture_row("planted")->source, CHECK_FROM_WINDOWS);
	assert_true(fabs(run_fixture_row("planted")->duration_change - 0.011) < 0.0005);
	assert_true(fabs(run_fixture_row("planted")->count_change) < 1e-9);
	assert_int_equal(run_fixture_row("gemm")->state, CHECK_SAME);
	assert_int_equal(run_fixture_row("all kernels")->state, CHECK_SAME);
}

static void more_launches_are_told_from_longer_ones(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.more = 1});
	run_fixture_check(1);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_REGRESSED);
	assert_true(fabs(run_fixture_row("planted")->count_change - 1) < 1e-9);
	assert_true(fabs(run_fixture_row("planted")->duration_change) < 1e-9);
	assert_int_equal(run_fixture_row("gemm")->state, CHECK_SAME);
	assert_true(fabs(run_fixture_row("planted")->before_ns - 100400) < 100);
	assert_true(fabs(run_fixture_row("planted")->after_ns - 200800) < 200);
}

/* main() launches most of the kernel before and after. */
static void the_line_that_grew_is_named(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.more = 7, .grown = 1});
	run_fixture_play(&(struct run_plan){.more = 7, .grown = 3});
	run_fixture_check(1);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_REGRESSED);
	assert_string_equal(run_fixture_row("planted")->line, "train.py:optimizer:22");
	assert_true(fabs(run_fixture_row("planted")->line_part - 1) < 1e-6);
	assert_null(run_fixture_row("gemm")->line);
	run_fixture_assert_has(
		CHECK_TEXT,
		"\nplanted: 100 % of the growth is launched by train.py:optimizer:22.\n");
	run_fixture_assert_has(CHECK_JSON, "\"line\":\"train.py:optimizer:22\",\"line_part\":1,");
	run_fixture_assert_has(CHECK_JSON, "\"line\":null,\"line_part\":null,");
	run_fixture_forget(NULL);
	/* each launch is longer: 8 of 10 are main()'s */
	run_fixture_play(&(struct run_plan){.more = 7, .grown = 2});
	run_fixture_play(&(struct run_plan){.more = 7, .grown = 2, .planted_ns = 10000});
	run_fixture_check(1);
	assert_string_equal(run_fixture_row("planted")->line, "train.py:main");
	assert_true(fabs(run_fixture_row("planted")->line_part - 0.8) < 1e-6);
}

/* A new kernel of 2 % is too small to be judged, and makes all kernels 2 % longer. */
static void a_small_cause_of_a_regressed_sum_is_listed(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.burst = 1});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->rows[0].state, CHECK_REGRESSED);
	assert_int_equal(run_fixture.result->nr_regressed, 1);
	assert_true(run_fixture_row("burst")->share < 0.05);
	assert_int_equal(run_fixture_row("burst")->state, CHECK_NEW);
	run_fixture_assert_has(CHECK_TEXT,
			       "\nburst: 100 % of the growth is launched by train.py:main.\n");
	run_fixture_forget(NULL);
	run_fixture_play(&(struct run_plan){.burst = 1});
	run_fixture_play(&(struct run_plan){.burst = 1, .planted_ns = 20000});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->rows[0].state, CHECK_REGRESSED);
	assert_int_equal(run_fixture.result->nr_rows, 3);
}

static void a_renamed_kernel_is_judged_by_the_sum(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.renamed = "other_gemm"});
	run_fixture_check(1);
	assert_int_equal(run_fixture_row("gemm")->state, CHECK_VANISHED);
	assert_int_equal(run_fixture_row("other_gemm")->state, CHECK_NEW);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
}

static void whole_runs_tell_the_noise_once_there_are_enough(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.run_ns = 100});
	run_fixture_play(&(struct run_plan){.run_ns = 0});
	run_fixture_play(&(struct run_plan){.run_ns = 200});
	run_fixture_play(&(struct run_plan){.run_ns = 100, .planted_ns = 6000});
	run_fixture_check(3);
	assert_int_equal(run_fixture_row("planted")->source, CHECK_FROM_RUNS);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_REGRESSED);
	/* 0.1 % from run to run, twice, and t of two degrees of freedom */
	assert_true(run_fixture_row("planted")->resolves > 0.01);
	assert_true(run_fixture_row("planted")->resolves < 0.05);
	run_fixture_forget(NULL);
	run_fixture_play(&(struct run_plan){.run_ns = 0});
	run_fixture_play(&(struct run_plan){.run_ns = 1500});
	run_fixture_play(&(struct run_plan){.run_ns = 3000});
	run_fixture_play(&(struct run_plan){.run_ns = 1500, .planted_ns = 1000});
	run_fixture_check(3);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
}

static void other_gpus_are_too_much_for_one_baseline(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.ranks = 4});
	run_fixture_check(1);
	assert_true(run_fixture.result->other_gpus);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
}

/* A larger job is not to be compared with a smaller one, in either order, however much longer it takes. */
static void runs_of_different_sizes_are_not_judged(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.ranks = 1, .with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.ranks = 4, .with_lone_ranks = true, .more = 1});
	run_fixture_check(1);
	assert_true(run_fixture.result->other_size);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
	assert_int_equal(run_work_ranks(run_fixture.runs[0], RUN_LAUNCHES), 1);
	assert_int_equal(run_work_ranks(run_fixture.runs[1], RUN_LAUNCHES), 4);
	for (enum check_format format = CHECK_TEXT; format <= CHECK_JUNIT; format++)
		if (format != CHECK_JSON)
			run_fixture_assert_has(format, "cannot tell: the runs differ in size; "
						       "before: 1 rank, after: 4 ranks");
	run_fixture_assert_has(CHECK_JSON, "\"verdict\":\"too noisy\"");
	run_fixture_assert_has(CHECK_JSON, "\"other_size\":true");
	run_fixture_assert_has(CHECK_JSON, "\"baseline\":false,\"ranks\":4,\"gpus\":4}");
	run_fixture_assert_has(CHECK_JUNIT, "name=\"profiles can be compared\"><error");
}

static void a_side_of_several_sizes_is_told(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.ranks = 4});
	run_fixture_play(&(struct run_plan){0});
	run_fixture_check(2);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
	run_fixture.runs[1]->counts.nr_ranks = 2;
	char words[CHECK_WORDS_SIZE];
	const struct check_report report = {run_fixture.result, run_fixture_question(2), NULL};
	assert_string_equal(check_words_verdict(&report, words, sizeof(words)),
			    "cannot tell: the runs differ in size; before: 2 to 4 GPUs, after: 2 "
			    "GPUs");
	run_fixture.runs[1]->counts.nr_ranks = 4;
	assert_string_equal(check_words_verdict(&report, words, sizeof(words)),
			    "cannot tell: the runs differ in size; before: 2 to 4 ranks, after: 2 "
			    "ranks");
}

/* As of programs on one GPU that mark their steps, and have no number of a rank. */
static void ranks_are_the_processes_that_have_steps(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.marks = RUN_FIXTURE_STEPS});
	run_fixture_play(&(struct run_plan){.marks = RUN_FIXTURE_STEPS});
	for (int i = 0; i < 2; i++)
		run_fixture.runs[i]->nr_numbers = 1;
	run_fixture.runs[0]->counts.nr_marked = 1;
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->unit, RUN_MARKS);
	assert_true(run_fixture.result->other_size);
	run_fixture_assert_has(CHECK_TEXT, "before: 1 rank, after: 2 ranks");
	run_fixture_assert_has(CHECK_JSON, "\"baseline\":true,\"ranks\":1,\"gpus\":2}");
	run_fixture_assert_has(CHECK_JSON, "\"baseline\":false,\"ranks\":2,\"gpus\":2}");
	run_fixture_assert_has(CHECK_JSON, "\"kernels_ns\":null,\"idle_ns\":null,");
	run_fixture.result->step.state = CHECK_REGRESSED;
	run_fixture_assert_lacks(CHECK_TEXT, "--cpu-hz"); /* which would not tell the idle part */
}

static void a_run_without_gpus_had_no_others(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){0});
	run_fixture.runs[1]->nr_members = 0;
	run_fixture.runs[1]->lossy = true;
	run_fixture_check(1);
	assert_false(run_fixture.result->other_gpus);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
}

static void one_baseline_is_enough_without_nccl(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true, .planted_ns = 5000});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->unit, RUN_LAUNCHES);
	assert_int_equal(run_fixture_row("planted")->source, CHECK_FROM_WINDOWS);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_REGRESSED);
	assert_int_equal(run_fixture_row("gemm")->state, CHECK_SAME);
	assert_int_equal(run_fixture.result->verdict, CHECK_REGRESSED);
}

static void without_single_launches_one_baseline_says_nothing(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true, .planted_ns = 5000});
	run_fixture.runs[0]->nr_windows = run_fixture.runs[1]->nr_windows = 0;
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->unit, RUN_LAUNCHES);
	assert_int_equal(run_fixture_row("planted")->source, CHECK_FROM_NOTHING);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_NOISY);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
	assert_true(fabs(run_fixture_row("planted")->change - 0.05) < 0.001);
}

static void the_need_of_longer_runs_is_said_once(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true, .planted_ns = 5000});
	run_fixture.runs[0]->nr_windows = run_fixture.runs[1]->nr_windows = 0;
	run_fixture_check(1);
	run_fixture_assert_has(CHECK_TEXT, "The profiles have too few single launches");
	run_fixture.result->step.is_short = true;
	run_fixture_assert_has(CHECK_TEXT, "Longer runs, or three or more baselines, tell how "
					   "much the times of steps and kernels vary.\n");
	run_fixture_assert_lacks(CHECK_TEXT, "The profiles have too few single launches");
}

static void what_a_clock_may_explain_is_said(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.others = 4});
	run_fixture_play(&(struct run_plan){.others = 4, .slower = 20});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_REGRESSED);
	assert_int_equal(run_fixture_row("k2")->state, CHECK_REGRESSED);
	assert_true(fabs(run_fixture.result->alike - 0.02) < 0.001);
	run_fixture_forget(NULL);
	run_fixture_play(&(struct run_plan){.others = 4});
	run_fixture_play(&(struct run_plan){.others = 4, .planted_ns = 5000});
	run_fixture_check(1);
	assert_true(run_fixture.result->alike == 0);
}

static void a_lossy_run_is_never_judged(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.more = 1});
	run_fixture.runs[1]->lossy = true;
	free(run_fixture.runs[1]->device);
	run_fixture.runs[1]->device = strdup("another");
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->nr_regressed, 2);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
}

static void runs_without_a_common_kernel_are_refused(void **state)
{
	char *error;

	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){0});
	for (uint32_t i = 1; i < run_fixture.runs[1]->nr_items; i++)
		run_fixture.runs[1]->items[i].name[0] = 'x';
	assert_int_equal(run_check_create(run_fixture_question(1), &run_fixture.result, &error),
			 -EINVAL);
	assert_string_equal(error, "the runs have no kernel in common");
	free(error);
}

static void other_types_of_gpus_are_refused(void **state)
{
	char *error;

	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){0});
	free(run_fixture.runs[1]->device);
	run_fixture.runs[1]->device = strdup("NVIDIA H100");
	assert_int_equal(run_check_create(run_fixture_question(1), &run_fixture.result, &error),
			 -EINVAL);
	assert_string_equal(error, "the runs had different GPUs: unknown ones, and NVIDIA H100");
	free(error);
}

static void damaged_windows_are_refused(void **state)
{
	struct database *database;
	struct report_tree *tree;
	struct run_work *work;
	void *fixture = NULL;
	uint32_t id = 0;
	char *error;

	(void)state;
	assert_int_equal(job_set_up(&fixture), 0);
	uint32_t process = job_process(0);
	job_communicator(process, 1, 0xfeed, 0, 1);
	run_fixture_step(&(struct run_plan){0}, process, 0, 0, &id);
	job_commit();
	struct profile *profile = job_profile();
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(database_open(job_path(), false, &database, NULL), 0);
	assert_int_equal(database_execute(database, "UPDATE sample_blocks SET data = x'0102'"), 0);
	database_close(database);
	assert_int_equal(run_work_create(profile, tree, job_path(), &work, &error), -EPROTO);
	assert_null(work);
	free(error);
	report_tree_destroy(tree);
	profile_destroy(profile);
	job_tear_down(&fixture);
}

static void a_faster_kernel_is_told(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.planted_ns = 10000});
	run_fixture_play(&(struct run_plan){0});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_FASTER);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_FASTER);
	assert_true(run_fixture_row("planted")->high < 0);
	assert_int_equal(run_fixture_row("gemm")->state, CHECK_SAME);
	run_fixture_assert_has(CHECK_TEXT, "\nfaster: ");
	run_fixture_assert_has(CHECK_JSON, "\"verdict\":\"faster\"");
	run_fixture_assert_has(CHECK_MARKDOWN, "| faster | `planted` |");
	run_fixture_assert_has(CHECK_JUNIT, "failures=\"0\" errors=\"0\" skipped=\"1\"");
}

/* As a regression below the limit is none. */
static void less_than_the_limit_is_not_faster(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.planted_ns = 500});
	run_fixture_play(&(struct run_plan){0});
	run_fixture_check(1);
	assert_int_equal(run_fixture_row("planted")->state, CHECK_SAME);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
}

/* Shares are of all GPU time after, so they add up. */
static void shares_add_up(void **state)
{
	double sum = 0;

	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.renamed = "other_gemm"});
	run_fixture_check(1);
	for (uint32_t i = 1; i < run_fixture.result->nr_rows; i++)
		sum += isnan(run_fixture.result->rows[i].share_after)
			       ? 0
			       : run_fixture.result->rows[i].share_after;
	assert_true(fabs(sum - 1) < 1e-9);
	assert_true(isnan(run_fixture_row("gemm")->share_after));
}

static void scaled_times_are_labelled(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_play(
		&(struct run_plan){.with_lone_ranks = true, .steps = 2 * RUN_FIXTURE_STEPS});
	run_fixture_check(1);
	assert_true(run_fixture.result->scaled);
	run_fixture_assert_has(CHECK_TEXT, " scaled before scaled after  ");
	assert_true(run_fixture_row("gemm")->before_ns == run_fixture_row("gemm")->after_ns);
	run_check_destroy(run_fixture.result);
	run_work_destroy(run_fixture.runs[1]);
	run_fixture.nr_runs = 1;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_check(1);
	assert_false(run_fixture.result->scaled);
	run_fixture_assert_has(CHECK_TEXT, "      before       after  ");
}

/* One of two kernels is launched twice as often: the run may be longer, or its step may be another one. */
static void runs_of_unknown_length_are_not_judged(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true, .more = 1});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
	run_fixture_assert_has(CHECK_TEXT,
			       "cannot tell: how many steps the runs made is not known");
	run_fixture_assert_has(CHECK_JUNIT, "<error message=\"cannot tell: how many steps");
	run_check_destroy(run_fixture.result);
	run_work_destroy(run_fixture.runs[1]);
	run_fixture.nr_runs = 1;
	run_fixture_play(
		&(struct run_plan){.with_lone_ranks = true, .steps = 2 * RUN_FIXTURE_STEPS});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
}

static void a_copy_is_told_from_another_run(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){0});
	run_fixture_play(&(struct run_plan){.run_ns = 1});
	run_fixture_play(&(struct run_plan){.renamed = "other"});
	assert_true(run_work_equals(run_fixture.runs[0], run_fixture.runs[1]));
	assert_false(run_work_equals(run_fixture.runs[0], run_fixture.runs[2]));
	assert_false(run_work_equals(run_fixture.runs[0], run_fixture.runs[3]));
	/* the same work, in more time */
	run_fixture_play(&(struct run_plan){.more_host_ns = 5000000});
	assert_false(run_work_equals(run_fixture.runs[0], run_fixture.runs[4]));
}

static void names_cannot_break_a_format(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.renamed = "f<a|b>(\"`&"});
	run_fixture_play(&(struct run_plan){.renamed = "f<a|b>(\"`&", .more = 1});
	run_fixture_check(1);
	run_fixture_assert_has(CHECK_TEXT, "regressed: 2 of 3 rows");
	run_fixture_assert_has(CHECK_MARKDOWN, "`f<a\\|b>(\"'&`");
	run_fixture_assert_has(CHECK_MARKDOWN,
			       "\n- planted: 100 % of the growth is launched by train.py:main.\n");
	run_fixture_assert_has(CHECK_JUNIT, "name=\"f&lt;a|b&gt;(&quot;`&amp;\"/>");
	run_fixture_assert_has(CHECK_JUNIT,
			       "tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\"");
	run_fixture_assert_has(CHECK_JUNIT, "<failure message=\"regressed: +100.00 %");
	run_fixture_assert_has(CHECK_JSON, "\"name\":\"f<a|b>(\\\"`&\"");
	run_fixture_assert_has(CHECK_JSON, "\"verdict\":\"regressed\"");
}

static void a_kernel_named_as_the_total_does_not_replace_it(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.renamed = "all kernels"});
	run_fixture_play(&(struct run_plan){.renamed = "all kernels", .more = 1});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->nr_rows, 3);
	assert_int_equal(run_fixture.result->rows[0].kind, RUN_KIND_ALL);
	assert_true(run_fixture.result->rows[0].share == 1);
	assert_int_equal(run_fixture.result->rows[0].state, CHECK_REGRESSED);
	assert_int_equal(run_fixture.result->rows[1].kind, RUN_KIND_KERNEL);
	assert_string_equal(run_fixture.result->rows[1].name, "all kernels");
	assert_true(run_fixture.result->rows[1].share < 1);
	assert_int_equal(run_fixture.result->rows[1].state, CHECK_SAME);
	run_fixture_assert_has(CHECK_TEXT, "regressed: 2 of 3 rows");
	run_fixture_assert_has(CHECK_JSON, "{\"kind\":\"all\",\"name\":\"all kernels\"");
	run_fixture_assert_has(CHECK_JSON, "{\"kind\":\"kernel\",\"name\":\"all kernels\"");
	run_fixture_assert_has(CHECK_MARKDOWN, "| regressed | all kernels |");
	run_fixture_assert_has(CHECK_MARKDOWN, "| same | `all kernels` |");
	run_fixture_assert_has(CHECK_JUNIT,
			       "classname=\"flamegrid.check.all\" name=\"all kernels\"><failure");
	run_fixture_assert_has(CHECK_JUNIT,
			       "classname=\"flamegrid.check.kernel\" name=\"all kernels\"/>");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_fixture_forget)
	const struct CMUnitTest tests[] = {
		TEST(a_run_against_itself_is_the_same),
		TEST(a_planted_percent_is_found_and_named),
		TEST(more_launches_are_told_from_longer_ones),
		TEST(the_line_that_grew_is_named),
		TEST(a_small_cause_of_a_regressed_sum_is_listed),
		TEST(a_renamed_kernel_is_judged_by_the_sum),
		TEST(whole_runs_tell_the_noise_once_there_are_enough),
		TEST(other_gpus_are_too_much_for_one_baseline),
		TEST(runs_of_different_sizes_are_not_judged),
		TEST(a_side_of_several_sizes_is_told),
		TEST(ranks_are_the_processes_that_have_steps),
		TEST(a_run_without_gpus_had_no_others),
		TEST(one_baseline_is_enough_without_nccl),
		TEST(without_single_launches_one_baseline_says_nothing),
		TEST(the_need_of_longer_runs_is_said_once),
		TEST(what_a_clock_may_explain_is_said),
		TEST(a_lossy_run_is_never_judged),
		TEST(runs_without_a_common_kernel_are_refused),
		TEST(other_types_of_gpus_are_refused),
		TEST(damaged_windows_are_refused),
		TEST(a_faster_kernel_is_told),
		TEST(less_than_the_limit_is_not_faster),
		TEST(shares_add_up),
		TEST(scaled_times_are_labelled),
		TEST(runs_of_unknown_length_are_not_judged),
		TEST(a_copy_is_told_from_another_run),
		TEST(names_cannot_break_a_format),
		TEST(a_kernel_named_as_the_total_does_not_replace_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
