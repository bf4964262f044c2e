#include "run_step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "noise.h"
#include "run_pace.h"

#include "report/model/report_summary.h"
#include "report/model/report_tree.h"
#include "report/names/text_line.h"

#define NUMBER_SIZE 32u
#define LINE_PART   0.5 /* of the idle time that is more, so that one function explains it */

/* One run, of one step; the times of GPUs are means of those of a rank. NAN: not known. */
struct pace {
	double step_ns, kernels_ns, idle_ns;
};

static double steps_of(const struct run_work *work, enum run_unit unit)
{
	return unit == RUN_MARKS ? (double)work->counts.marks : (double)work->counts.steps;
}

/* Returns how many GPUs a rank has, on average. 1: not known. */
static double gpus_of(const struct run_work *work, enum run_unit unit)
{
	const uint32_t nr_ranks = run_counts_ranks(&work->counts, unit);

	return nr_ranks && work->pace.nr_gpus ? (double)work->pace.nr_gpus / nr_ranks : 1;
}

static struct pace pace_of(const struct run_work *work, enum run_unit unit)
{
	const double steps = steps_of(work, unit);
	const double work_ns = (double)work->items[RUN_WORK_ALL].ns;
	const struct run_stretch *of = &work->pace.of;
	const double gpu_steps = steps * gpus_of(work, unit);
	/* In whole nanoseconds, as a report says it. */
	const double whole_ns = steps > 0 && work->pace.window_ns
					? floor((double)work->pace.window_ns *
						run_counts_ranks(&work->counts, unit) / steps)
					: NAN;
	double step_ns = whole_ns;

	/* A step has as much work wherever it is, so all but the busy part of it is idle. The idle time of the whole
	 * run does not tell this part, as it contains the start, which step_ns leaves out. To leave it out makes a
	 * step no longer: if few tenths say so, they are not like the others. A GPU may have a part of a rank's time,
	 * where it has several. */
	if (steps > 0 && of->work_ns > 0) {
		step_ns = of->wall_ns / of->work_ns * work_ns / steps;
		if (whole_ns > 0 && gpus_of(work, unit) <= 1)
			step_ns = fmin(step_ns, whole_ns);
	}
	if (!(step_ns > 0))
		return (struct pace){NAN, NAN, NAN};
	return (struct pace){
		.step_ns = step_ns,
		.kernels_ns = work_ns / gpu_steps,
		.idle_ns = work->pace.idle_ns && work->pace.busy_ns
				   ? step_ns - (double)work->pace.busy_ns / gpu_steps
				   : NAN,
	};
}

static struct pace mean_of(const struct check_question *question, enum run_unit unit, bool after)
{
	const uint32_t from = after ? question->nr_before : 0;
	const uint32_t nr = after ? question->nr_after : question->nr_before;
	struct pace mean = {0, 0, 0};

	for (uint32_t i = from; i < from + nr; i++) {
		const struct pace of = pace_of(question->runs[i], unit);

		mean.step_ns += of.step_ns / nr;
		mean.kernels_ns += of.kernels_ns / nr;
		mean.idle_ns += of.idle_ns / nr;
	}
	return mean;
}

/* Returns whether the average GPU tells the parts of a step. Where ranks share a GPU, a rank's step has the work of
 * others in it; and with more GPUs for each rank, work moves from one GPU to others. */
static bool are_parts_known(const struct check_question *question, enum run_unit unit)
{
	const double gpus = gpus_of(question->runs[0], unit);

	for (uint32_t i = 1; i < question->nr_before + question->nr_after; i++)
		if (gpus_of(question->runs[i], unit) != gpus)
			return false;
	return gpus >= 1;
}

/* Finds the function below which most of the growth of the last run over the first one is. */
static void find_line(const struct check_question *question, enum run_unit unit,
		      struct check_step *step)
{
	const struct run_work *before = question->runs[0];
	const struct run_work *after = question->runs[question->nr_before + question->nr_after - 1];
	const double steps_before = steps_of(before, unit) * gpus_of(before, unit);
	const double steps_after = steps_of(after, unit) * gpus_of(after, unit);
	double most = 0;

	for (uint32_t i = 0; i < after->pace.nr_idle; i++) {
		const struct run_idle *idle = &after->pace.idle[i];
		const struct run_idle *was = run_pace_find(&before->pace, idle->name);
		const double grown =
			(double)idle->ns / steps_after - (was ? (double)was->ns / steps_before : 0);

		if (grown <= most)
			continue;
		most = grown;
		step->line = idle->line;
	}
	if (most < LINE_PART * step->idle_ns)
		step->line = NULL;
}

static bool noise_of_runs(const struct check_question *question, enum run_unit unit,
			  struct noise *noise)
{
	struct noise_side sides[2] = {0};

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++)
		noise_side_add(&sides[i >= question->nr_before],
			       log(pace_of(question->runs[i], unit).step_ns));
	return noise_of_sides(&sides[0], &sides[1], noise);
}

static bool noise_within_runs(const struct check_question *question, struct noise *noise)
{
	*noise = (struct noise){.freedom = INFINITY};
	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++) {
		const uint32_t nr =
			i < question->nr_before ? question->nr_before : question->nr_after;
		const struct run_stretch *stretch = &question->runs[i]->pace.of;
		struct noise of;

		if (!noise_of_windows(stretch->windows, stretch->nr_windows, &of))
			return false;
		of.deviation /= nr;
		*noise = noise_add(*noise, of);
	}
	noise->bound = RUN_CHECK_UNSEEN_STEP;
	return true;
}

static bool are_long(const struct check_question *question)
{
	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++)
		if (!run_pace_is_long(&question->runs[i]->pace))
			return false;
	return true;
}

/* noise: NULL: none is known. */
static bool is_doubtful(const struct check_question *question, const struct noise *noise,
			const struct check_step *step)
{
	const double least = !noise                            ? RUN_CHECK_DOUBT_SHORT
			     : step->source == CHECK_FROM_RUNS ? question->max_regress
							       : RUN_CHECK_DOUBT_LEAST;

	return step->change > fmax(least, question->max_regress) &&
	       (!noise || log1p(step->change) > noise_width(noise, RUN_CHECK_DOUBTS));
}

void run_step_compare(const struct check_question *question, enum run_unit unit, bool is_damaged,
		      uint32_t nr_judged, struct check_step *step)
{
	struct noise noise;

	*step = (struct check_step){
		.gpu = REPORT_GPU_NONE, .low = NAN, .high = NAN, .state = CHECK_NOT_JUDGED};
	if (unit > RUN_STEPS)
		return;
	const struct pace before = mean_of(question, unit, false);
	const struct pace after = mean_of(question, unit, true);
	step->is_known = before.step_ns > 0 && after.step_ns > 0;
	if (!step->is_known) {
		step->is_doubtful = !is_damaged;
		return;
	}
	step->before_ns = before.step_ns;
	step->after_ns = after.step_ns;
	step->change = after.step_ns / before.step_ns - 1;
	const bool has_parts = are_parts_known(question, unit);
	step->kernels_ns = has_parts ? after.kernels_ns - before.kernels_ns : NAN;
	step->idle_ns = has_parts ? after.idle_ns - before.idle_ns : NAN;
	const struct run_pace *last =
		&question->runs[question->nr_before + question->nr_after - 1]->pace;
	step->gpu = last->gpu;
	step->nr_gpus = last->nr_gpus;
	if (step->idle_ns > 0)
		find_line(question, unit, step);
	if (is_damaged)
		return;
	step->source = CHECK_FROM_RUNS;
	bool has_noise = noise_of_runs(question, unit, &noise);
	if (!has_noise) {
		step->source = CHECK_FROM_WINDOWS;
		has_noise = noise_within_runs(question, &noise);
	}
	if (has_noise)
		step->state = run_verdict_judge(question, &noise, step->change, nr_judged,
						&step->low, &step->high);
	else
		step->source = CHECK_FROM_NOTHING;
	step->is_short = !has_noise && !are_long(question);
	step->is_thin = !has_noise && !step->is_short;
	step->is_doubtful = (step->state == CHECK_NOISY || !has_noise) &&
			    is_doubtful(question, has_noise ? &noise : NULL, step);
	if (step->is_doubtful)
		step->state = CHECK_NOISY;
}

/* Writes ", +0.300 ms in kernels". */
static void append_part(char *text, size_t size, const char *before, double ns, const char *after)
{
	char time[NUMBER_SIZE];

	text_line_append(text, size, "%s%s%s %s", before, ns < 0 ? "-" : "+",
			 report_summary_time((uint64_t)llround(fabs(ns)), time), after);
}

const char *run_step_text(const struct check_step *step, char *text, size_t size)
{
	char after[NUMBER_SIZE], before[NUMBER_SIZE];

	*text = '\0';
	if (!step->is_known)
		return text;
	text_line_append(text, size, "the run takes %s a step instead of %s (%+.2f %%)",
			 report_summary_time((uint64_t)llround(step->after_ns), after),
			 report_summary_time((uint64_t)llround(step->before_ns), before),
			 100 * step->change);
	if (step->is_short)
		text_line_append(text, size, ", which runs this short do not tell from chance");
	else if (step->is_thin)
		text_line_append(text, size,
				 ", of which too few launches are kept to tell from chance");
	else if (step->state == CHECK_NOISY)
		text_line_append(text, size, ", too noisy to say");
	if (!isfinite(step->kernels_ns))
		return text;
	append_part(text, size, ": ", step->kernels_ns, "in kernels");
	const double rest_ns = step->after_ns - step->before_ns - step->kernels_ns -
			       (isfinite(step->idle_ns) ? step->idle_ns : 0);
	if (!isfinite(step->idle_ns)) {
		append_part(text, size, ", ", rest_ns, "outside of them");
		return text;
	}
	if (llround(rest_ns) != 0)
		append_part(text, size, ", ", rest_ns, "in copies, NCCL and by overlap");
	append_part(text, size, ", ", step->idle_ns, "idle");
	if (step->gpu >= 0)
		text_line_append(text, size, " on GPU %" PRId32, step->gpu);
	else if (step->nr_gpus > 1)
		text_line_append(text, size, " on the average GPU");
	if (step->line)
		text_line_append(text, size, ", most of it in %s", step->line);
	return text;
}
