#include "check_words.h"

#include <inttypes.h>
#include <math.h>

#include "run_step.h"

#include "report/names/text_line.h"

const char *check_words_percent(double part, char text[static 32])
{
	if (isfinite(part) && fabs(part) < 1e6)
		snprintf(text, 32, "%+.2f %%", 100 * part);
	else
		snprintf(text, 32, "-");
	return text;
}

/* Writes "regressed: the time of a step, and 1 of 4 rows". */
static void append_count(char *text, size_t size, uint32_t count, uint32_t of, bool has_step,
			 const char *verdict)
{
	text_line_append(text, size, "%s: %s", verdict, has_step ? "the time of a step" : "");
	if (count)
		text_line_append(text, size, "%s%" PRIu32 " of %" PRIu32 " rows",
				 has_step ? ", and " : "", count, of);
}

/* Says which longer steps would not have been seen. */
static void append_open(char *text, size_t size, const struct check_step *step)
{
	const double most = isfinite(step->high) ? fmax(step->high, 0) : RUN_CHECK_DOUBT_SHORT;

	text_line_append(text, size, "; whether a step takes up to %.0f %% longer is not known",
			 ceil(100 * most));
}

static uint32_t gpus_of(const struct run_work *work, enum run_unit unit)
{
	(void)unit;
	return work->nr_gpus;
}

/* Finds the least and the most of a side. Returns whether they are the same. */
static bool find_range(const struct check_report *report, bool after,
		       uint32_t (*number)(const struct run_work *work, enum run_unit unit),
		       uint32_t range[2])
{
	const struct check_question *question = report->question;
	const enum run_unit unit = report->result->unit;
	const uint32_t from = after ? question->nr_before : 0;
	const uint32_t nr = after ? question->nr_after : question->nr_before;

	range[0] = range[1] = number(question->runs[from], unit);
	for (uint32_t i = from; i < from + nr; i++) {
		const uint32_t of = number(question->runs[i], unit);

		range[0] = of < range[0] ? of : range[0];
		range[1] = of > range[1] ? of : range[1];
	}
	return range[0] == range[1];
}

/* Writes "before: 1 rank, after: 4 ranks". If ranks are as many, GPUs are not. */
static void append_sizes(char *text, size_t size, const struct check_report *report)
{
	uint32_t ranges[2][2];
	const char *word = "rank";
	const bool is_one = find_range(report, false, run_work_ranks, ranges[0]);

	if (find_range(report, true, run_work_ranks, ranges[1]) && is_one &&
	    ranges[0][0] == ranges[1][0]) {
		word = "GPU";
		find_range(report, false, gpus_of, ranges[0]);
		find_range(report, true, gpus_of, ranges[1]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		text_line_append(text, size, i ? ", after: " : "before: ");
		if (ranges[i][0] != ranges[i][1])
			text_line_append(text, size, "%" PRIu32 " to ", ranges[i][0]);
		text_line_append(text, size, "%" PRIu32 " %s%s", ranges[i][1], word,
				 ranges[i][1] == 1 ? "" : "s");
	}
}

const char *check_words_verdict(const struct check_report *report, char *text, size_t size)
{
	const struct check_result *result = report->result;
	uint32_t nr_judged = 0;

	*text = '\0';
	for (uint32_t i = 0; i < result->nr_rows; i++)
		nr_judged += result->rows[i].state <= CHECK_NOISY;
	if (result->lossy)
		text_line_append(text, size, "cannot tell: a profile is not complete");
	else if (result->other_size) {
		text_line_append(text, size, "cannot tell: the runs differ in size; ");
		append_sizes(text, size, report);
	} else if (result->unclear)
		text_line_append(text, size,
				 "cannot tell: how many steps the runs made is not known");
	else if (result->verdict == CHECK_REGRESSED)
		append_count(text, size, result->nr_regressed, nr_judged,
			     result->step.state == CHECK_REGRESSED, "regressed");
	else if (result->verdict == CHECK_NOISY && result->nr_noisy)
		append_count(text, size, result->nr_noisy, nr_judged, result->step.is_doubtful,
			     "too noisy to tell");
	else if (result->verdict == CHECK_NOISY)
		text_line_append(text, size,
				 "cannot tell: kernels are %s (%" PRIu32
				 " rows), but whether a step takes longer is not known",
				 result->nr_faster ? "the same or faster" : "the same", nr_judged);
	else if (result->verdict == CHECK_FASTER)
		append_count(text, size, result->nr_faster, nr_judged,
			     result->step.state == CHECK_FASTER, "faster");
	else
		text_line_append(text, size, "the same: %" PRIu32 " rows", nr_judged);
	if (check_words_is_open(&result->step) && result->verdict <= CHECK_FASTER)
		append_open(text, size, &result->step);
	return text;
}

bool check_words_is_open(const struct check_step *step)
{
	return step->is_known && (step->state == CHECK_NOISY || step->state == CHECK_NOT_JUDGED);
}

const char *check_words_step(const struct check_report *report, char *text, size_t size)
{
	const struct check_step *step = &report->result->step;

	run_step_text(step, text, size);
	if (!step->is_known && step->is_doubtful)
		text_line_append(text, size,
				 "how long a step takes is not known: the profiles keep too few "
				 "single launches, and the GPUs' whole time is not exact");
	return text;
}

const char *check_words_row(const struct check_row *row, char *text, size_t size)
{
	char texts[5][32];

	*text = '\0';
	text_line_append(text, size, "%s", check_words_percent(row->change, texts[0]));
	if (isfinite(row->low) && isfinite(row->high))
		text_line_append(text, size, " (%s to %s)", check_words_percent(row->low, texts[1]),
				 check_words_percent(row->high, texts[2]));
	text_line_append(text, size, ": launches %s, duration %s",
			 check_words_percent(row->count_change, texts[3]),
			 check_words_percent(row->duration_change, texts[4]));
	if (row->line)
		text_line_append(text, size, "; %.0f %% of the growth is launched by %s",
				 100 * row->line_part, row->line);
	return text;
}

static bool has_source(const struct check_result *result, enum check_source source)
{
	for (uint32_t i = 0; i < result->nr_rows; i++)
		if (result->rows[i].state == CHECK_NOISY && result->rows[i].source == source)
			return true;
	return false;
}

static void note_losses(FILE *out, const struct check_report *report)
{
	const struct check_question *question = report->question;

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++)
		if (question->runs[i]->lossy)
			fprintf(out, "%s is not complete: %s\n", report->labels[i],
				question->runs[i]->summary);
}

/* Says where to look. */
static void note_lines(FILE *out, const struct check_result *result)
{
	for (uint32_t i = 0; i < result->nr_rows; i++)
		if ((result->rows[i].state == CHECK_REGRESSED || result->rows[i].is_cause) &&
		    result->rows[i].line)
			fprintf(out, "%s: %.0f %% of the growth is launched by %s.\n",
				result->rows[i].name, 100 * result->rows[i].line_part,
				result->rows[i].line);
}

static const char *steps_of(const struct run_counts *counts)
{
	return counts->marks   ? "marks steps"
	       : counts->steps ? "has steps by its calls of NCCL"
			       : "has none";
}

/* Says why times are not those of steps. */
static void note_no_steps(FILE *out, const struct check_report *report)
{
	const struct check_question *question = report->question;
	const uint32_t nr = question->nr_before + question->nr_after;
	bool any = false;

	for (uint32_t i = 0; i < nr; i++)
		any |= question->runs[i]->counts.marks || question->runs[i]->counts.steps;
	if (!any) {
		fputs("No steps were found: the program marks none (flamegrid.step()), and calls "
		      "of NCCL have no pattern.\n",
		      out);
		return;
	}
	fputs("Steps are not compared, since the runs do not have them in the same way: ", out);
	for (uint32_t i = 0; i < nr; i++)
		fprintf(out, "%s%s %s", i ? ", " : "", report->labels[i],
			steps_of(&question->runs[i]->counts));
	fputs(".\n", out);
}

static void note_unit(FILE *out, const struct check_report *report)
{
	static const char *const units[] = {
		[RUN_MARKS] = "one step of a rank, as the program marks its steps",
		[RUN_STEPS] = "one step of a rank, counted by the pattern of its calls of NCCL",
		[RUN_COLLECTIVES] = "one call of NCCL",
		[RUN_LAUNCHES] = "whole runs, scaled to as many launches as the first baseline "
				 "made",
		[RUN_WHOLE] = "whole runs",
	};

	if (report->result->unit > RUN_STEPS)
		note_no_steps(out, report);
	fprintf(out, "Times are those of %s.\n", units[report->result->unit]);
}

/* Says what would tell how much the runs vary. */
static void note_few_launches(FILE *out, const struct check_result *result)
{
	const bool has_few =
		has_source(result, CHECK_FROM_LAUNCHES) || has_source(result, CHECK_FROM_NOTHING);
	const char *varies =
		has_few ? "the times of steps and kernels vary" : "the time of a step varies";

	if (result->step.is_short)
		fprintf(out, "Longer runs, or three or more baselines, tell how much %s.\n",
			varies);
	else if (result->step.is_thin)
		fprintf(out,
			"Three or more baselines tell how much %s; longer runs do not, as these "
			"launch too often.\n",
			varies);
	else if (has_few)
		fputs("The profiles have too few single launches to tell how much a run varies: "
		      "give three or more baselines, or longer runs.\n",
		      out);
}

void check_words_notes(FILE *out, const struct check_report *report)
{
	const struct check_result *result = report->result;
	char text[32];

	note_losses(out, report);
	if (result->step.state == CHECK_REGRESSED && isfinite(result->step.kernels_ns) &&
	    isnan(result->step.idle_ns))
		fputs("flamegrid run --cpu-hz 99 --off-cpu 1ms records what the host does while "
		      "GPUs are idle.\n",
		      out);
	note_few_launches(out, result);
	if (result->unclear)
		fputs("Some kernels were launched more often by another factor than others. "
		      "flamegrid.step() in the program makes the runs comparable.\n",
		      out);
	note_lines(out, result);
	note_unit(out, report);
	if (result->alike != 0)
		fprintf(out,
			"Kernels' durations changed alike, by %s: the GPUs' clock may be the "
			"cause; profiles do not have it.\n",
			check_words_percent(result->alike, text));
	if (result->other_gpus)
		fputs("The runs had other GPUs of the same type, which may differ by 3 %: give "
		      "several baselines.\n",
		      out);
}
