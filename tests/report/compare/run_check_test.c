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

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "proto/batch/statistics_table.h"
#include "proto/definition.h"
#include "report/compare/check_writer.h"
#include "report/compare/run_step.h"
#include "report/model/report_build.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS 2u
#define STEPS 60u

static struct run_work *runs[8];
static uint32_t nr_runs;
static struct check_result *result;

/* A run of two ranks. Durations vary by a pattern that is the same in each run, and by some ns of the run's. */
struct plan {
	uint32_t steps;        /* 0: STEPS */
	uint64_t planted_ns;   /* more in each launch of "planted" */
	uint64_t run_ns;       /* more in each launch */
	uint32_t more;         /* more launches of "planted" a step */
	const char *renamed;   /* in place of "gemm" */
	uint32_t ranks;        /* 0: RANKS */
	uint32_t others;       /* further kernels, of 1 ms */
	uint32_t slower;       /* thousandths more of each of these */
	bool with_lone_ranks;  /* no communicator */
	uint32_t marks;        /* steps that rank 0 marks; the others mark none */
	uint64_t more_host_ns; /* more in each step on the host, in load_batch() */
};

static uint64_t varied(uint32_t step, uint32_t rank, uint64_t ns)
{
	return ns + ns / 500 * ((step * 7 + rank * 3) % 5);
}

static void play_step(const struct plan *plan, uint32_t process, uint32_t rank, uint32_t step,
		      uint32_t *id)
{
	uint64_t now_ns = 1000000000ull + step * (50000000ull + plan->more_host_ns);
	struct job_kernel kernel = {.stack = "train.py:main", .tid = 1};

	if (!plan->with_lone_ranks) {
		struct collective call = job_all_reduce(1, step + 1, 0, now_ns, 1000);

		job_call(process, &call);
	}
	for (uint32_t i = 0; i < 1 + plan->more; i++) {
		kernel.name = "planted";
		kernel.correlation_id = ++*id;
		kernel.start_ns = now_ns += 1000000;
		kernel.ns = varied(step, rank, 100000) + plan->planted_ns + plan->run_ns;
		job_kernel(process, &kernel);
	}
	kernel.name = plan->renamed ? plan->renamed : "gemm";
	kernel.correlation_id = ++*id;
	kernel.start_ns = now_ns + 1000000;
	kernel.ns = varied(step, rank, 900000) + 9 * plan->run_ns;
	job_kernel(process, &kernel);
	for (uint32_t i = 0; i < plan->others; i++) {
		static const char *const names[] = {"k0", "k1", "k2", "k3"};

		kernel.name = names[i];
		kernel.correlation_id = ++*id;
		kernel.start_ns += 2000000;
		kernel.ns = varied(step, rank + i, 1000000) + 1000 * plan->slower;
		job_kernel(process, &kernel);
	}
}

/* Each rank has launch configurations, as real ones have. */
static void mark(struct profile *profile, const uint32_t *processes, uint32_t ranks, uint32_t marks)
{
	const struct message_api_call call = {
		.domain = DEFINITION_STEP_DOMAIN, .cbid = DEFINITION_STEP_CBID, .count = marks};
	const struct message_kernel_config config = {.count = 1};

	for (uint32_t i = 0; i < ranks; i++) {
		struct roster_process *process =
			roster_process(profile->collection->roster, processes[i]);

		if (!process->statistics)
			process->statistics = statistics_table_create();
		assert_int_equal(statistics_table_put_config(process->statistics, &config), 0);
		if (i == 0)
			assert_int_equal(statistics_table_put_call(process->statistics, &call), 0);
	}
}

/* Plays a run into a store, and reads it. */
static void run(const struct plan *plan)
{
	const uint32_t ranks = plan->ranks ? plan->ranks : RANKS;
	uint32_t processes[8], ids[8] = {0};
	struct report_tree *tree;
	void *state = NULL;
	char *error;

	assert_int_equal(job_set_up(&state), 0);
	for (uint32_t i = 0; i < ranks; i++) {
		processes[i] = job_process((int32_t)i);
		if (!plan->with_lone_ranks)
			job_communicator(processes[i], 1, 0xfeed, i, ranks);
	}
	for (uint32_t step = 0; step < (plan->steps ? plan->steps : STEPS); step++)
		for (uint32_t i = 0; i < ranks; i++)
			play_step(plan, processes[i], i, step, &ids[i]);
	job_commit();
	struct profile *profile = job_profile();
	if (plan->marks)
		mark(profile, processes, ranks, plan->marks);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(run_work_create(profile, tree, job_path(), &runs[nr_runs++], &error), 0);
	report_tree_destroy(tree);
	profile_destroy(profile);
	job_tear_down(&state);
	runs[nr_runs - 1]->lossy = false;
}

static const struct check_question *question_of(uint32_t nr_before)
{
	static struct check_question question;

	question = (struct check_question){(const struct run_work *const *)runs, nr_before,
					   nr_runs - nr_before, 0.01, 0.05};
	return &question;
}

static void check(uint32_t nr_before)
{
	char *error;

	assert_int_equal(run_check_create(question_of(nr_before), &result, &error), 0);
}

static const struct check_row *row_of(const char *name)
{
	for (uint32_t i = 0; i < result->nr_rows; i++)
		if (strcmp(result->rows[i].name, name) == 0)
			return &result->rows[i];
	fail_msg("no row of %s", name);
	return NULL;
}

static int forget(void **state)
{
	(void)state;
	run_check_destroy(result);
	result = NULL;
	while (nr_runs)
		run_work_destroy(runs[--nr_runs]);
	return 0;
}

static void a_run_against_itself_is_the_same(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){0});
	check(1);
	assert_int_equal(result->verdict, CHECK_SAME);
	assert_int_equal(result->nr_rows, 3);
	assert_int_equal(result->unit, RUN_STEPS);
	assert_true(row_of("planted")->change == 0);
	assert_true(row_of("gemm")->resolves == 0);
}

static void a_planted_percent_is_found_and_named(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.planted_ns = 1100, .steps = 90});
	check(1);
	assert_int_equal(result->verdict, CHECK_REGRESSED);
	assert_int_equal(result->nr_regressed, 1);
	assert_int_equal(row_of("planted")->state, CHECK_REGRESSED);
	assert_int_equal(row_of("planted")->source, CHECK_FROM_WINDOWS);
	assert_true(fabs(row_of("planted")->duration_change - 0.011) < 0.0005);
	assert_true(fabs(row_of("planted")->count_change) < 1e-9);
	assert_int_equal(row_of("gemm")->state, CHECK_SAME);
	assert_int_equal(row_of("all kernels")->state, CHECK_SAME);
}

static void more_launches_are_told_from_longer_ones(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.more = 1});
	check(1);
	assert_int_equal(row_of("planted")->state, CHECK_REGRESSED);
	assert_true(fabs(row_of("planted")->count_change - 1) < 1e-9);
	assert_true(fabs(row_of("planted")->duration_change) < 1e-9);
	assert_int_equal(row_of("gemm")->state, CHECK_SAME);
	assert_true(fabs(row_of("planted")->before_ns - 100400) < 100);
	assert_true(fabs(row_of("planted")->after_ns - 200800) < 200);
}

static void a_renamed_kernel_is_judged_by_the_sum(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.renamed = "other_gemm"});
	check(1);
	assert_int_equal(row_of("gemm")->state, CHECK_VANISHED);
	assert_int_equal(row_of("other_gemm")->state, CHECK_NEW);
	assert_int_equal(result->verdict, CHECK_SAME);
}

static void whole_runs_tell_the_noise_once_there_are_enough(void **state)
{
	(void)state;
	run(&(struct plan){.run_ns = 100});
	run(&(struct plan){.run_ns = 0});
	run(&(struct plan){.run_ns = 200});
	run(&(struct plan){.run_ns = 100, .planted_ns = 6000});
	check(3);
	assert_int_equal(row_of("planted")->source, CHECK_FROM_RUNS);
	assert_int_equal(row_of("planted")->state, CHECK_REGRESSED);
	/* 0.1 % from run to run, twice, and t of two degrees of freedom */
	assert_true(row_of("planted")->resolves > 0.01);
	assert_true(row_of("planted")->resolves < 0.05);
	forget(NULL);
	run(&(struct plan){.run_ns = 0});
	run(&(struct plan){.run_ns = 1500});
	run(&(struct plan){.run_ns = 3000});
	run(&(struct plan){.run_ns = 1500, .planted_ns = 1000});
	check(3);
	assert_int_equal(result->verdict, CHECK_NOISY);
}

static void other_gpus_are_too_much_for_one_baseline(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.ranks = 4});
	check(1);
	assert_true(result->other_gpus);
	assert_int_equal(result->verdict, CHECK_NOISY);
}

static void one_baseline_is_enough_without_nccl(void **state)
{
	(void)state;
	run(&(struct plan){.with_lone_ranks = true});
	run(&(struct plan){.with_lone_ranks = true, .planted_ns = 5000});
	check(1);
	assert_int_equal(result->unit, RUN_LAUNCHES);
	assert_int_equal(row_of("planted")->source, CHECK_FROM_WINDOWS);
	assert_int_equal(row_of("planted")->state, CHECK_REGRESSED);
	assert_int_equal(row_of("gemm")->state, CHECK_SAME);
	assert_int_equal(result->verdict, CHECK_REGRESSED);
}

static void without_single_launches_one_baseline_says_nothing(void **state)
{
	(void)state;
	run(&(struct plan){.with_lone_ranks = true});
	run(&(struct plan){.with_lone_ranks = true, .planted_ns = 5000});
	runs[0]->nr_windows = runs[1]->nr_windows = 0;
	check(1);
	assert_int_equal(result->unit, RUN_LAUNCHES);
	assert_int_equal(row_of("planted")->source, CHECK_FROM_NOTHING);
	assert_int_equal(row_of("planted")->state, CHECK_NOISY);
	assert_int_equal(result->verdict, CHECK_NOISY);
	assert_true(fabs(row_of("planted")->change - 0.05) < 0.001);
}

static void what_a_clock_may_explain_is_said(void **state)
{
	(void)state;
	run(&(struct plan){.others = 4});
	run(&(struct plan){.others = 4, .slower = 20});
	check(1);
	assert_int_equal(result->verdict, CHECK_REGRESSED);
	assert_int_equal(row_of("k2")->state, CHECK_REGRESSED);
	assert_true(fabs(result->alike - 0.02) < 0.001);
	forget(NULL);
	run(&(struct plan){.others = 4});
	run(&(struct plan){.others = 4, .planted_ns = 5000});
	check(1);
	assert_true(result->alike == 0);
}

static void a_lossy_run_is_never_judged(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.more = 1});
	runs[1]->lossy = true;
	free(runs[1]->device);
	runs[1]->device = strdup("another");
	check(1);
	assert_int_equal(result->nr_regressed, 2);
	assert_int_equal(result->verdict, CHECK_NOISY);
}

static void runs_without_a_common_kernel_are_refused(void **state)
{
	char *error;

	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){0});
	for (uint32_t i = 1; i < runs[1]->nr_items; i++)
		runs[1]->items[i].name[0] = 'x';
	assert_int_equal(run_check_create(question_of(1), &result, &error), -EINVAL);
	assert_string_equal(error, "the runs have no kernel in common");
	free(error);
}

static void other_types_of_gpus_are_refused(void **state)
{
	char *error;

	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){0});
	free(runs[1]->device);
	runs[1]->device = strdup("NVIDIA H100");
	assert_int_equal(run_check_create(question_of(1), &result, &error), -EINVAL);
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
	play_step(&(struct plan){0}, process, 0, 0, &id);
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

static char *text_of(enum check_format format)
{
	const char *const labels[] = {"old", "new"};
	const struct check_report report = {result, question_of(1), labels};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(check_writer_write(out, &report, format, NULL), 0);
	fclose(out);
	return text;
}

static void assert_has(enum check_format format, const char *part)
{
	char *text = text_of(format);

	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
	free(text);
}

static void a_faster_kernel_is_told(void **state)
{
	(void)state;
	run(&(struct plan){.planted_ns = 10000});
	run(&(struct plan){0});
	check(1);
	assert_int_equal(result->verdict, CHECK_FASTER);
	assert_int_equal(row_of("planted")->state, CHECK_FASTER);
	assert_true(row_of("planted")->high < 0);
	assert_int_equal(row_of("gemm")->state, CHECK_SAME);
	assert_has(CHECK_TEXT, "\nfaster: ");
	assert_has(CHECK_JSON, "\"verdict\":\"faster\"");
	assert_has(CHECK_MARKDOWN, "| faster | `planted` |");
	assert_has(CHECK_JUNIT, "failures=\"0\" errors=\"0\" skipped=\"1\"");
}

/* As a regression below the limit is none. */
static void less_than_the_limit_is_not_faster(void **state)
{
	(void)state;
	run(&(struct plan){.planted_ns = 500});
	run(&(struct plan){0});
	check(1);
	assert_int_equal(row_of("planted")->state, CHECK_SAME);
	assert_int_equal(result->verdict, CHECK_SAME);
}

static const char *step_text(void)
{
	static char text[512];

	return run_step_text(&result->step, text, sizeof(text));
}

static void a_slower_host_has_regressed_though_kernels_are_the_same(void **state)
{
	(void)state;
	run(&(struct plan){.steps = 200});
	run(&(struct plan){.steps = 240, .more_host_ns = 5000000});
	check(1);
	assert_int_equal(result->nr_regressed, 0);
	assert_int_equal(row_of("all kernels")->state, CHECK_SAME);
	assert_int_equal(result->step.state, CHECK_REGRESSED);
	assert_int_equal(result->verdict, CHECK_REGRESSED);
	assert_true(fabs(result->step.before_ns - 50e6) < 0.5e6);
	assert_true(fabs(result->step.after_ns - 55e6) < 0.5e6);
	assert_true(isnan(result->step.idle_ns)); /* no samples of the host */
	assert_non_null(strstr(step_text(), "the run takes 5"));
	assert_has(CHECK_TEXT, "\nregressed: the time of a step\n");
	assert_has(CHECK_TEXT, "--cpu-hz 99");
	assert_has(CHECK_JSON, "\"idle_ns\":null,\"line\":null,\"noise_of\":\"windows\",");
	assert_has(CHECK_JUNIT, "name=\"time of a step\"><failure");
}

/* 100 steps of 47 ms, of which 40 ms are kernels, and 100 of 52.1 ms. */
static void more_idle_time_is_told_with_its_function(void **state)
{
	struct run_item all[2] = {{.ns = 4000000000}, {.ns = 4030000000}};
	struct run_idle before[] = {{"train.py:load_batch", "train.py:load_batch:12", 500000000, 1},
				    {"train.py:save", "train.py:save:30", 200000000, 1}};
	struct run_idle after[] = {{"train.py:load_batch", "train.py:load_batch:14", 970000000, 1},
				   {"train.py:save", "train.py:save:32", 210000000, 1}};
	const struct run_work works[2] = {{.items = &all[0],
					   .counts.marks = 100,
					   .pace = {.wall_ns = 4.7e9,
						    .work_ns = 4e9,
						    .idle_ns = 700000000,
						    .idle = before,
						    .nr_idle = 2}},
					  {.items = &all[1],
					   .counts.marks = 100,
					   .pace = {.wall_ns = 5.21e9,
						    .work_ns = 4.03e9,
						    .idle_ns = 1180000000,
						    .idle = after,
						    .nr_idle = 2}}};
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;
	char text[512];

	(void)state;
	run_step_compare(&question, RUN_MARKS, false, 1, &step);
	assert_int_equal(step.state, CHECK_NOT_JUDGED); /* no windows tell the noise */
	assert_string_equal(
		run_step_text(&step, text, sizeof(text)),
		"the run takes 52.100 ms a step instead of 47.000 ms (+10.85 %): +300.000 us in kernels, "
		"+4.800 ms idle on GPU 0, most of it in train.py:load_batch:14");
	run_step_compare(&question, RUN_LAUNCHES, false, 1, &step);
	assert_string_equal(run_step_text(&step, text, sizeof(text)), "");
}

static void pauses_are_no_part_of_a_step(void **state)
{
	struct run_window windows[100] = {0};
	struct run_pace pace = {0};

	(void)state;
	/* 40 tenths, a pause of 30, 40 tenths, of which one is empty */
	for (uint32_t i = 0; i < 80; i++)
		windows[i] = (struct run_window){
			.number = 1000 + i + (i >= 40 ? 30 : 0) + (i >= 60), .usual_ns = 7};
	assert_int_equal(run_pace_add(&pace, windows, 80), 0);
	run_pace_finish(&pace);
	assert_int_equal(pace.nr_tenths, 76); /* without the parts at both ends and at the pause */
	assert_true(pace.work_ns == 76 * 7);
	assert_true(pace.wall_ns == 77e8);
	run_pace_fini(&pace);
	windows[79].number = UINT64_MAX;
	assert_int_equal(run_pace_add(&pace, windows, 80), 0);
	assert_int_equal(pace.nr_tenths, 0); /* damage */
}

/* Shares are of all GPU time after, so they add up. */
static void shares_add_up(void **state)
{
	double sum = 0;

	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){.renamed = "other_gemm"});
	check(1);
	for (uint32_t i = 1; i < result->nr_rows; i++)
		sum += isnan(result->rows[i].share_after) ? 0 : result->rows[i].share_after;
	assert_true(fabs(sum - 1) < 1e-9);
	assert_true(isnan(row_of("gemm")->share_after));
}

static void scaled_times_are_labelled(void **state)
{
	(void)state;
	run(&(struct plan){.with_lone_ranks = true});
	run(&(struct plan){.with_lone_ranks = true, .steps = 2 * STEPS});
	check(1);
	assert_true(result->scaled);
	assert_has(CHECK_TEXT, " scaled before scaled after  ");
	assert_true(row_of("gemm")->before_ns == row_of("gemm")->after_ns);
	run_check_destroy(result);
	run_work_destroy(runs[1]);
	nr_runs = 1;
	run(&(struct plan){.with_lone_ranks = true});
	check(1);
	assert_false(result->scaled);
	assert_has(CHECK_TEXT, "      before       after  ");
}

/* One of two kernels is launched twice as often: the run may be longer, or its step may be another one. */
static void runs_of_unknown_length_are_not_judged(void **state)
{
	(void)state;
	run(&(struct plan){.with_lone_ranks = true});
	run(&(struct plan){.with_lone_ranks = true, .more = 1});
	check(1);
	assert_int_equal(result->verdict, CHECK_NOISY);
	assert_has(CHECK_TEXT, "cannot tell: how many steps the runs made is not known");
	assert_has(CHECK_JUNIT, "<error message=\"cannot tell: how many steps");
	run_check_destroy(result);
	run_work_destroy(runs[1]);
	nr_runs = 1;
	run(&(struct plan){.with_lone_ranks = true, .steps = 2 * STEPS});
	check(1);
	assert_int_equal(result->verdict, CHECK_SAME);
}

/* Without marks, the steps are as many as the calls of NCCL say: one each. */
static void marked_steps_are_the_steps(void **state)
{
	(void)state;
	run(&(struct plan){.marks = STEPS / 2});
	run(&(struct plan){.marks = STEPS, .steps = 2 * STEPS});
	check(1);
	assert_int_equal(result->unit, RUN_MARKS);
	assert_int_equal(runs[0]->counts.nr_marked, RANKS); /* rank 1 counts as many as rank 0 */
	assert_int_equal(runs[0]->counts.marks, RANKS * (STEPS / 2));
	assert_true(row_of("gemm")->change == 0);
	assert_has(CHECK_TEXT, "as the program marks its steps");
	assert_has(CHECK_JSON, "\"unit\":\"step\"");
	const double marked_ns = row_of("gemm")->before_ns;
	run_check_destroy(result);
	run_work_destroy(runs[--nr_runs]);
	run(&(struct plan){.steps = 2 * STEPS});
	check(1);
	assert_int_equal(result->unit, RUN_STEPS);
	assert_true(fabs(row_of("gemm")->before_ns * 2 / marked_ns - 1) < 1e-9);
}

static void a_copy_is_told_from_another_run(void **state)
{
	(void)state;
	run(&(struct plan){0});
	run(&(struct plan){0});
	run(&(struct plan){.run_ns = 1});
	run(&(struct plan){.renamed = "other"});
	assert_true(run_work_equals(runs[0], runs[1]));
	assert_false(run_work_equals(runs[0], runs[2]));
	assert_false(run_work_equals(runs[0], runs[3]));
}

static void names_cannot_break_a_format(void **state)
{
	(void)state;
	run(&(struct plan){.renamed = "f<a|b>(\"`&"});
	run(&(struct plan){.renamed = "f<a|b>(\"`&", .more = 1});
	check(1);
	assert_has(CHECK_TEXT, "regressed: 2 of 3 rows");
	assert_has(CHECK_MARKDOWN, "`f<a\\|b>(\"'&`");
	assert_has(CHECK_JUNIT, "name=\"f&lt;a|b&gt;(&quot;`&amp;\"/>");
	assert_has(CHECK_JUNIT, "tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\"");
	assert_has(CHECK_JUNIT, "<failure message=\"regressed: +100.00 %");
	assert_has(CHECK_JSON, "\"name\":\"f<a|b>(\\\"`&\"");
	assert_has(CHECK_JSON, "\"verdict\":\"regressed\"");
}

static void a_kernel_named_as_the_total_does_not_replace_it(void **state)
{
	(void)state;
	run(&(struct plan){.renamed = "all kernels"});
	run(&(struct plan){.renamed = "all kernels", .more = 1});
	check(1);
	assert_int_equal(result->nr_rows, 3);
	assert_int_equal(result->rows[0].kind, RUN_KIND_ALL);
	assert_true(result->rows[0].share == 1);
	assert_int_equal(result->rows[0].state, CHECK_REGRESSED);
	assert_int_equal(result->rows[1].kind, RUN_KIND_KERNEL);
	assert_string_equal(result->rows[1].name, "all kernels");
	assert_true(result->rows[1].share < 1);
	assert_int_equal(result->rows[1].state, CHECK_SAME);
	assert_has(CHECK_TEXT, "regressed: 2 of 3 rows");
	assert_has(CHECK_JSON, "{\"kind\":\"all\",\"name\":\"all kernels\"");
	assert_has(CHECK_JSON, "{\"kind\":\"kernel\",\"name\":\"all kernels\"");
	assert_has(CHECK_MARKDOWN, "| regressed | all kernels |");
	assert_has(CHECK_MARKDOWN, "| same | `all kernels` |");
	assert_has(CHECK_JUNIT, "classname=\"flamegrid.check.all\" name=\"all kernels\"><failure");
	assert_has(CHECK_JUNIT, "classname=\"flamegrid.check.kernel\" name=\"all kernels\"/>");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
	const struct CMUnitTest tests[] = {
		TEST(a_run_against_itself_is_the_same),
		TEST(a_planted_percent_is_found_and_named),
		TEST(more_launches_are_told_from_longer_ones),
		TEST(a_renamed_kernel_is_judged_by_the_sum),
		TEST(whole_runs_tell_the_noise_once_there_are_enough),
		TEST(other_gpus_are_too_much_for_one_baseline),
		TEST(one_baseline_is_enough_without_nccl),
		TEST(without_single_launches_one_baseline_says_nothing),
		TEST(what_a_clock_may_explain_is_said),
		TEST(a_lossy_run_is_never_judged),
		TEST(runs_without_a_common_kernel_are_refused),
		TEST(other_types_of_gpus_are_refused),
		TEST(damaged_windows_are_refused),
		TEST(a_faster_kernel_is_told),
		TEST(less_than_the_limit_is_not_faster),
		TEST(a_slower_host_has_regressed_though_kernels_are_the_same),
		TEST(more_idle_time_is_told_with_its_function),
		TEST(pauses_are_no_part_of_a_step),
		TEST(shares_add_up),
		TEST(scaled_times_are_labelled),
		TEST(runs_of_unknown_length_are_not_judged),
		TEST(marked_steps_are_the_steps),
		TEST(a_copy_is_told_from_another_run),
		TEST(names_cannot_break_a_format),
		TEST(a_kernel_named_as_the_total_does_not_replace_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
