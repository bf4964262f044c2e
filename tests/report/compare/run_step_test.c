#include "report/compare/run_step.h"

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

#include "aggregator/core/kept_window.h"
#include "tests/report/straggler/straggler_fixture.h"

static const char *step_text(void)
{
	static char text[512];

	return run_step_text(&run_fixture.result->step, text, sizeof(text));
}

static void a_slower_host_has_regressed_though_kernels_are_the_same(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.steps = 200});
	run_fixture_play(&(struct run_plan){.steps = 240, .more_host_ns = 5000000});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->nr_regressed, 0);
	assert_int_equal(run_fixture_row("all kernels")->state, CHECK_SAME);
	assert_int_equal(run_fixture.result->step.state, CHECK_REGRESSED);
	assert_int_equal(run_fixture.result->verdict, CHECK_REGRESSED);
	assert_true(fabs(run_fixture.result->step.before_ns - 50e6) < 0.5e6);
	assert_true(fabs(run_fixture.result->step.after_ns - 55e6) < 0.5e6);
	assert_true(isnan(run_fixture.result->step.idle_ns)); /* no samples of the host */
	assert_non_null(strstr(step_text(), "the run takes 5"));
	run_fixture_assert_has(CHECK_TEXT, "\nregressed: the time of a step\n");
	run_fixture_assert_has(CHECK_TEXT, "--cpu-hz 99");
	run_fixture_assert_has(CHECK_JSON,
			       "\"idle_ns\":null,\"line\":null,\"noise_of\":\"windows\",");
	run_fixture_assert_has(CHECK_JUNIT, "name=\"time of a step\"><failure");
}

/* 100 steps of 47 ms, of which 40 ms are kernels, and 100 of 52.1 ms. */
static void more_idle_time_is_told_with_its_function(void **state)
{
	struct run_item all[2] = {{.ns = 4000000000}, {.ns = 4030000000}};
	struct run_idle before[] = {{"train.py:load_batch", "train.py:load_batch:12", 500000000, 1},
				    {"train.py:save", "train.py:save:30", 200000000, 1}};
	struct run_idle after[] = {{"train.py:load_batch", "train.py:load_batch:14", 970000000, 1},
				   {"train.py:save", "train.py:save:32", 210000000, 1}};
	const struct run_work works[2] = {
		{.items = &all[0],
		 .counts = {.marks = 100, .nr_marked = 1},
		 .pace = {.of = {.wall_ns = 4.7e9, .work_ns = 4e9},
			  .idle_ns = 2700000000, /* 2 s of it before the steps */
			  .busy_ns = 4000000000,
			  .nr_gpus = 1,
			  .idle = before,
			  .nr_idle = 2}},
		{.items = &all[1],
		 .counts = {.marks = 100, .nr_marked = 1},
		 .pace = {.of = {.wall_ns = 5.21e9, .work_ns = 4.03e9},
			  .idle_ns = 1180000000,
			  .busy_ns = 4030000000,
			  .nr_gpus = 1,
			  .idle = after,
			  .nr_idle = 2}}};
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;
	char text[512];

	(void)state;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_int_equal(step.state, CHECK_NOT_JUDGED); /* no windows tell the noise */
	assert_string_equal(run_step_text(&step, text, sizeof(text)),
			    "the run takes 52.100 ms a step instead of 47.000 ms (+10.85 %), "
			    "which runs this short do not tell from chance: "
			    "+300.000 us in kernels, "
			    "+4.800 ms idle on GPU 0, most of it in train.py:load_batch:14");
	run_step_compare(&question, RUN_LAUNCHES, false, 2, &step);
	assert_string_equal(run_step_text(&step, text, sizeof(text)), "");
}

/* Runs of two ranks with two GPUs each, of 100 steps, of which kernels of NCCL and copies are a part. */
static void parts_of_the_change_make_the_whole(void **state)
{
	struct run_item all[2] = {{.ns = 16000000000}, {.ns = 16400000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;
	char text[512];

	(void)state;
	for (int i = 0; i < 2; i++) {
		works[i] = (struct run_work){.items = &all[i],
					     .counts = {.marks = 200, .nr_marked = 2}};
		works[i].pace = (struct run_pace){
			.gpu = REPORT_GPU_NONE,
			.of = {.wall_ns = i ? 13e9 : 12e9, .work_ns = (double)all[i].ns},
			.idle_ns = i ? 1 : 9000000000,
			.busy_ns = i ? 17200000000 : 17000000000,
			.nr_gpus = 4};
	}
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_string_equal(run_step_text(&step, text, sizeof(text)),
			    "the run takes 65.000 ms a step instead of 60.000 ms (+8.33 %), "
			    "which runs this short do not tell from chance: "
			    "+1.000 ms in kernels, -500.000 us in copies, NCCL and by overlap, "
			    "+4.500 ms idle on the average GPU");
	works[0].pace.idle_ns = 0; /* no samples of the host */
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_string_equal(strstr(run_step_text(&step, text, sizeof(text)), ": "),
			    ": +1.000 ms in kernels, +4.000 ms outside of them");
}

/* Two ranks on one GPU against one rank, which has it alone: 100 steps of each. */
static void ranks_that_share_a_gpu_have_no_parts(void **state)
{
	struct run_item all[2] = {{.ns = 157000000}, {.ns = 314000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	const char *whole = "the run takes 1.700 ms a step instead of 1.600 ms (+6.25 %), "
			    "which runs this short do not tell from chance";
	struct check_step step;
	char text[512];

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		works[i] = (struct run_work){
			.items = &all[i],
			.counts = {.marks = 100 * (i + 1), .nr_marked = i + 1},
			.pace = {.of = {.wall_ns = i ? 340e6 : 160e6, .work_ns = (double)all[i].ns},
				 .idle_ns = 1000000,
				 .busy_ns = all[i].ns,
				 .nr_gpus = 1}};
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(isnan(step.kernels_ns) && isnan(step.idle_ns));
	assert_string_equal(run_step_text(&step, text, sizeof(text)), whole);
	works[0].counts.nr_marked = 2; /* both share it */
	works[0].pace.window_ns = 80000000;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_string_equal(run_step_text(&step, text, sizeof(text)), whole);
	for (uint32_t i = 0; i < 2; i++)
		works[i].pace.nr_gpus = 2;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(isfinite(step.kernels_ns) && isfinite(step.idle_ns));
}

/* A rank that moves half of its work to another GPU does not save half of the kernels' time. */
static void more_gpus_of_a_rank_have_no_parts(void **state)
{
	struct run_item all[2] = {{.ns = 200000000}, {.ns = 200000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		works[i] = (struct run_work){.items = &all[i],
					     .counts = {.marks = 100, .nr_marked = 1},
					     .pace = {.of = {.wall_ns = 3e8, .work_ns = 2e8},
						      .busy_ns = all[i].ns,
						      .nr_gpus = i + 1}};
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(step.is_known);
	assert_true(isnan(step.kernels_ns));
	works[0].pace.nr_gpus = 2;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(step.kernels_ns == 0);
}

/* Returns how the step of two runs is judged that have so many tenths each. Every fourth one of the run after has
 * more_work in place of 100. */
static struct check_step judge_tenths(uint32_t nr, double factor, double more_work)
{
	struct run_window tenths[2][64] = {0};
	struct run_item items[2] = {{.ns = 1000000000}, {.ns = 1000000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;

	for (int i = 0; i < 2; i++) {
		works[i] = (struct run_work){.items = &items[i], .counts.marks = 100};
		works[i].pace.of.windows = tenths[i];
		works[i].pace.of.nr_windows = nr;
		for (uint32_t j = 0; j < nr; j++) {
			tenths[i][j].ns = i ? 100 * factor : 100;
			tenths[i][j].usual_ns = j % 4 == 0 && i ? more_work : 100;
			works[i].pace.of.wall_ns += tenths[i][j].ns;
			works[i].pace.of.work_ns += tenths[i][j].usual_ns;
		}
	}
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	return step;
}

/* Without enough tenths, a quarter more is too much for chance. With them, their noise decides, from a tenth on. */
static void a_step_that_seems_much_longer_is_doubtful(void **state)
{
	struct check_step step = judge_tenths(4, 1.24, 100);

	(void)state;
	assert_true(step.is_short);
	assert_false(step.is_doubtful);
	assert_int_equal(step.state, CHECK_NOT_JUDGED);
	step = judge_tenths(4, 1.26, 100);
	assert_true(step.is_doubtful);
	assert_int_equal(step.state, CHECK_NOISY);
	assert_int_equal(step.source, CHECK_FROM_NOTHING);
	step = judge_tenths(4, 0.5, 100);
	assert_false(step.is_doubtful);
	step = judge_tenths(32, 1.5, 100);
	assert_int_equal(step.state, CHECK_REGRESSED);
	assert_false(step.is_doubtful || step.is_short);
	bool has_same = false, has_doubts = false;
	for (int i = 0; i < 60; i++) {
		step = judge_tenths(16, 1.75 * (1.02 + 0.02 * i), 400);
		assert_false(step.is_short);
		if (step.is_doubtful) {
			assert_true(step.change > 0.1 && step.low < 0);
			assert_int_equal(step.state, CHECK_NOISY);
		}
		/* From doubts on they remain, until the step has regressed. */
		assert_true(!has_doubts || step.is_doubtful || step.state == CHECK_REGRESSED);
		has_doubts |= step.is_doubtful;
		has_same |= step.change > 0.1 && step.state == CHECK_NOISY && !step.is_doubtful;
	}
	assert_true(has_doubts && has_same);
}

/* Ten steps of half a second are too few tenths; the host takes a third longer. */
static void a_doubtful_step_makes_the_check_tell_that_it_cannot_tell(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.steps = 16});
	run_fixture_play(&(struct run_plan){.steps = 16, .more_host_ns = 20000000});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->nr_noisy, 0);
	assert_true(run_fixture.result->step.is_doubtful);
	assert_int_equal(run_fixture.result->verdict, CHECK_NOISY);
	run_fixture_assert_has(CHECK_TEXT, "\ncannot tell: kernels are the same (");
	run_fixture_assert_has(CHECK_TEXT,
			       " rows), but whether a step takes longer is not known\n");
	run_fixture_assert_has(CHECK_MARKDOWN, "### GPU time: cannot tell: kernels are the same");
	run_fixture_assert_has(CHECK_JSON, "\"verdict\":\"too noisy\",\"complete\":true,");
	run_fixture_assert_has(CHECK_JUNIT, "errors=\"1\" skipped=\"0\"");
	run_fixture_assert_has(CHECK_JUNIT, "name=\"time of a step\"><error message=\"too noisy: "
					    "the run takes ");
}

static void a_short_step_that_differs_by_chance_is_said_to_be_unknown(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.steps = 16});
	run_fixture_play(&(struct run_plan){.steps = 16, .more_host_ns = 1000000});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
	run_fixture_assert_has(CHECK_TEXT,
			       " rows; whether a step takes up to 25 % longer is not known\n");
	run_fixture_assert_has(CHECK_JUNIT, "errors=\"0\" skipped=\"1\"");
}

/* ---- processes that launch so often that few tenths of their launches are kept */

/* A run of 60 s, of steps with 4 ms of work and so much on the host, which varies. One tenth in 64 is kept. */
static void play_thin(struct run_work *work, struct run_item *all, double host_ms, uint64_t *seed)
{
	enum { HUNDREDTHS = 6000 };
	static double work_ms[HUNDREDTHS + 20];
	struct run_window tenths[HUNDREDTHS / 10], hundredths[HUNDREDTHS];
	const uint64_t begin = (1ull << 20) + (uint64_t)(fabs(job_normal(seed)) * (1u << 20));
	uint32_t nr = 0, nr_fine = 0;
	double now_ms = 0;

	memset(work_ms, 0, sizeof(work_ms));
	*work = (struct run_work){.items = all, .counts.nr_marked = 1};
	for (; now_ms < HUNDREDTHS * 10; work->counts.marks++) {
		for (uint32_t i = 0; i < 40; i++)
			work_ms[(uint32_t)((now_ms + 0.1 * i) / 10)] += 0.1;
		now_ms += 4 + host_ms * (1 + fabs(job_normal(seed)));
	}
	for (uint32_t i = 0; i < HUNDREDTHS; i++) {
		const uint64_t number = begin + i / 10;

		if (kept_window_level(number) < 6 || work_ms[i] == 0)
			continue;
		hundredths[nr_fine++] =
			(struct run_window){.number = begin * 10 + i, .usual_ns = work_ms[i] * 1e6};
		if (!nr || tenths[nr - 1].number != number)
			tenths[nr++] = (struct run_window){.number = number};
		tenths[nr - 1].usual_ns += work_ms[i] * 1e6;
	}
	*all = (struct run_item){.ns = work->counts.marks * 4000000};
	assert_int_equal(run_pace_add(&work->pace, tenths, nr, 1), 0);
	assert_int_equal(run_pace_add(&work->pace, hundredths, nr_fine, RUN_PACE_PARTS), 0);
	run_pace_finish(&work->pace);
	work->pace.window_ns = (uint64_t)(now_ms * 1e6);
}

static void few_kept_tenths_tell_by_their_hundredths(void **state)
{
	uint32_t judged = 0, alarms = 0, found = 0, thin = 0;
	uint64_t seed = 1;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		struct run_item items[2];
		struct run_work works[2];
		const struct run_work *const both[] = {&works[0], &works[1]};
		const struct check_question question = {both, 1, 1, 0.01, 0.05};
		const bool is_planted = i % 2;
		struct check_step step;

		play_thin(&works[0], &items[0], 0.5, &seed);
		play_thin(&works[1], &items[1], is_planted ? 1 : 0.5, &seed);
		run_step_compare(&question, RUN_MARKS, false, 5, &step);
		assert_true(step.is_known && !step.is_short);
		thin += step.is_thin;
		judged += is_planted && !step.is_thin;
		found += is_planted && !step.is_thin &&
			 (step.state == CHECK_REGRESSED || step.is_doubtful);
		alarms += !is_planted && (step.state == CHECK_REGRESSED || step.is_doubtful);
		run_pace_fini(&works[0].pace);
		run_pace_fini(&works[1].pace);
	}
	assert_true(thin <= 4); /* no tenth at all is kept */
	assert_true(alarms <= 2);
	assert_true(found * 100 >= judged * 99);
}

/* 12,000 launches a second: from 16,384 on, single launches are kept of fewer and fewer tenths. */
static void a_process_of_many_launches_is_judged(void **state)
{
	const struct run_plan fast = {
		.ranks = 1, .with_lone_ranks = true, .steps = 240, .marks = 240, .burst = 600};
	struct run_plan slow = fast;

	(void)state;
	slow.more_host_ns = 10000000;
	run_fixture_play(&fast);
	run_fixture_play(&slow);
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->step.source, CHECK_FROM_WINDOWS);
	assert_int_equal(run_fixture.result->step.state, CHECK_REGRESSED);
	assert_true(fabs(run_fixture.result->step.change - 0.2) < 0.02);
	run_check_destroy(run_fixture.result);
	run_work_destroy(run_fixture.runs[1]);
	run_fixture.nr_runs = 1;
	run_fixture_play(&fast);
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->verdict, CHECK_SAME);
}

/* Nothing is kept, so the GPUs' whole time tells how long steps are, but not how much they vary. */
static void without_kept_launches_the_whole_time_tells_the_step(void **state)
{
	struct run_item all[2] = {{.ns = 16000000000}, {.ns = 16000000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;
	char text[512];

	(void)state;
	for (int i = 0; i < 2; i++)
		works[i] = (struct run_work){.items = &all[i],
					     .counts = {.marks = 200, .nr_marked = 2},
					     .pace.window_ns = i ? 6600000000 : 6000000000};
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(step.is_thin && !step.is_short && !step.is_doubtful);
	assert_non_null(strstr(run_step_text(&step, text, sizeof(text)),
			       "the run takes 66.000 ms a step instead of 60.000 ms (+10.00 %), of "
			       "which too few launches are kept to tell from chance: "));
	works[1].pace.window_ns = 7600000000;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(step.is_doubtful);
	works[1].pace.window_ns = 0; /* not even that */
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_false(step.is_known);
	assert_true(step.is_doubtful);
}

/* Few tenths, with half of the work that a tenth has elsewhere, say that steps take twice the run. */
static void steps_take_no_longer_than_the_run(void **state)
{
	struct run_item all[2] = {{.ns = 3000000000}, {.ns = 3000000000}};
	struct run_work works[2];
	const struct run_work *const both[] = {&works[0], &works[1]};
	const struct check_question question = {both, 1, 1, 0.01, 0.05};
	struct check_step step;

	(void)state;
	for (int i = 0; i < 2; i++)
		works[i] = (struct run_work){.items = &all[i],
					     .counts = {.marks = 100, .nr_marked = 1},
					     .pace = {.window_ns = 6000000000,
						      .nr_gpus = 1,
						      .of = {.wall_ns = 300000000,
							     .work_ns = i ? 75000000 : 180000000}}};
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(fabs(step.before_ns - 50000000) < 1); /* the start has 10 ms of each step */
	assert_true(fabs(step.after_ns - 60000000) < 1);
	works[1].pace.nr_gpus = 2; /* and each has a part of the run */
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(fabs(step.after_ns - 120000000) < 1);
	works[1].pace.window_ns = 0;
	works[1].pace.nr_gpus = 1;
	run_step_compare(&question, RUN_MARKS, false, 2, &step);
	assert_true(fabs(step.after_ns - 120000000) < 1);
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
	assert_int_equal(run_pace_add(&pace, windows, 80, 1), 0);
	run_pace_finish(&pace);
	/* without the parts at both ends and at the pause */
	assert_int_equal(pace.of.nr_windows, 76);
	assert_true(pace.of.work_ns == 76 * 7);
	assert_true(pace.of.wall_ns == 77e8);
	run_pace_fini(&pace);
	windows[79].number = UINT64_MAX;
	assert_int_equal(run_pace_add(&pace, windows, 80, 1), 0);
	assert_int_equal(pace.of.nr_windows, 0); /* damage */
}

/* One run has steps by its marks alone, the other none at all. */
static void steps_of_one_side_are_not_called_missing(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.marks = RUN_FIXTURE_STEPS, .with_lone_ranks = true});
	run_fixture_play(&(struct run_plan){.with_lone_ranks = true});
	run_fixture_check(1);
	assert_false(run_fixture.result->step.is_known);
	run_fixture_assert_has(CHECK_TEXT,
			       "\nSteps are not compared, since the runs do not have them in "
			       "the same way: old marks steps, new has none.\n"
			       "Times are those of whole runs,");
}

/* Without marks, the steps are as many as the calls of NCCL say: one each. */
static void marked_steps_are_the_steps(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.marks = RUN_FIXTURE_STEPS / 2});
	run_fixture_play(
		&(struct run_plan){.marks = RUN_FIXTURE_STEPS, .steps = 2 * RUN_FIXTURE_STEPS});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->unit, RUN_MARKS);
	assert_int_equal(run_fixture.runs[0]->counts.nr_marked,
			 RUN_FIXTURE_RANKS); /* rank 1 counts as many as rank 0 */
	assert_int_equal(run_fixture.runs[0]->counts.marks,
			 RUN_FIXTURE_RANKS * (RUN_FIXTURE_STEPS / 2));
	assert_true(run_fixture_row("gemm")->change == 0);
	run_fixture_assert_has(CHECK_TEXT, "as the program marks its steps");
	run_fixture_assert_has(CHECK_JSON, "\"unit\":\"step\"");
	const double marked_ns = run_fixture_row("gemm")->before_ns;
	run_check_destroy(run_fixture.result);
	run_work_destroy(run_fixture.runs[--run_fixture.nr_runs]);
	run_fixture_play(&(struct run_plan){.steps = 2 * RUN_FIXTURE_STEPS});
	run_fixture_check(1);
	assert_int_equal(run_fixture.result->unit, RUN_STEPS);
	assert_true(fabs(run_fixture_row("gemm")->before_ns * 2 / marked_ns - 1) < 1e-9);
}

/* Four runs tell of themselves how much steps vary, and the tenths of a second within them do not count. */
static void whole_runs_tell_the_noise_of_steps_once_there_are_enough(void **state)
{
	(void)state;
	run_fixture_play(&(struct run_plan){.steps = 200});
	run_fixture_play(&(struct run_plan){.steps = 200, .more_host_ns = 100000});
	run_fixture_play(&(struct run_plan){.steps = 200, .more_host_ns = 200000});
	run_fixture_play(&(struct run_plan){.steps = 200, .more_host_ns = 10000000});
	run_fixture_check(3);
	assert_int_equal(run_fixture.result->step.source, CHECK_FROM_RUNS);
	assert_int_equal(run_fixture.result->step.state, CHECK_REGRESSED);
	assert_true(run_fixture.result->step.low > 0.01);
	assert_true(run_fixture.result->step.high < 0.40);
}

static void a_step_that_is_not_judged_has_no_noise(void **state)
{
	struct check_step step;

	(void)state;
	run_fixture_play(&(struct run_plan){.steps = 200});
	run_fixture_play(&(struct run_plan){.steps = 200, .more_host_ns = 5000000});
	run_step_compare(run_fixture_question(1), RUN_STEPS, true, 1, &step);
	assert_true(step.is_known);
	assert_true(fabs(step.change - 0.1) < 0.01);
	assert_int_equal(step.state, CHECK_NOT_JUDGED);
	assert_int_equal(step.source, CHECK_FROM_NOTHING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_fixture_forget)
	const struct CMUnitTest tests[] = {
		TEST(a_slower_host_has_regressed_though_kernels_are_the_same),
		TEST(more_idle_time_is_told_with_its_function),
		TEST(parts_of_the_change_make_the_whole),
		TEST(ranks_that_share_a_gpu_have_no_parts),
		TEST(more_gpus_of_a_rank_have_no_parts),
		TEST(a_step_that_seems_much_longer_is_doubtful),
		TEST(a_doubtful_step_makes_the_check_tell_that_it_cannot_tell),
		TEST(a_short_step_that_differs_by_chance_is_said_to_be_unknown),
		TEST(few_kept_tenths_tell_by_their_hundredths),
		TEST(a_process_of_many_launches_is_judged),
		TEST(without_kept_launches_the_whole_time_tells_the_step),
		TEST(steps_take_no_longer_than_the_run),
		TEST(pauses_are_no_part_of_a_step),
		TEST(steps_of_one_side_are_not_called_missing),
		TEST(marked_steps_are_the_steps),
		TEST(whole_runs_tell_the_noise_of_steps_once_there_are_enough),
		TEST(a_step_that_is_not_judged_has_no_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
