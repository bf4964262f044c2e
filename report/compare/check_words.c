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

const char *check_words_verdict(const struct check_report *report, char *text, size_t size)
{
	const struct check_result *result = report->result;
	uint32_t nr_judged = 0;

	*text = '\0';
	for (uint32_t i = 0; i < result->nr_rows; i++)
		nr_judged += result->rows[i].state <= CHECK_NOISY;
	if (result->lossy)
		text_line_append(text, size, "cannot tell: a profile is not complete");
	else if (result->unclear)
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
		text_line_append(text, size, "; of the time of a step nothing is known");
	return text;
}

bool check_words_is_open(const struct check_step *step)
{
	return step->is_known && (step->state == CHECK_NOISY || step->state == CHECK_NOT_JUDGED);
}

const char *check_words_step(const struct check_report *report, char *text, size_t size)
{
	return run_step_text(&report->result->step, text, size);
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
		text_line_append(text, size, "; launched by %s", row->line);
	return text;
}

static bool has_source(const struct check_result *result, enum check_source source)
{
	for (uint32_t i = 0; i < result->nr_rows; i++)
		if (result->rows[i].state == CHECK_NOISY && result->rows[i].source == source)
			return true;
	return false;
}

static void note_losses(FILE *out, const struct check_report *report, const char *prefix)
{
	const struct check_question *question = report->question;

	for (uint32_t i = 0; i < question->nr_before + question->nr_after; i++)
		if (question->runs[i]->lossy)
			fprintf(out, "%s%s is not complete: %s\n", prefix, report->labels[i],
				question->runs[i]->summary);
}

/* Says where to look. */
static void note_lines(FILE *out, const struct check_result *result, const char *prefix)
{
	for (uint32_t i = 0; i < result->nr_rows; i++)
		if (result->rows[i].state == CHECK_REGRESSED && result->rows[i].line)
			fprintf(out, "%s%s is launched by %s.\n", prefix, result->rows[i].name,
				result->rows[i].line);
}

void check_words_notes(FILE *out, const struct check_report *report, const char *prefix)
{
	static const char *const units[] = {
		[RUN_MARKS] = "Times are those of one step of a rank, as the program marks its "
			      "steps.",
		[RUN_STEPS] =
			"Times are those of one step of a rank, counted by the pattern of its "
			"calls of NCCL.",
		[RUN_COLLECTIVES] = "Times are those of one call of NCCL, as steps are not known.",
		[RUN_LAUNCHES] = "No steps were found: the program marks none (flamegrid.step()), "
				 "and calls of "
				 "NCCL have no pattern. Times are those of whole runs, "
				 "scaled to as many launches as the first baseline made.",
		[RUN_WHOLE] = "Times are those of whole runs.",
	};
	const struct check_result *result = report->result;
	char text[32];

	note_losses(out, report, prefix);
	if (result->step.state == CHECK_REGRESSED && isnan(result->step.idle_ns))
		fprintf(out,
			"%sflamegrid run --cpu-hz 99 --off-cpu 1ms records what the host does "
			"while GPUs are idle.\n",
			prefix);
	if (result->unclear)
		fprintf(out,
			"%sNo steps were found, and some kernels were launched more often by "
			"another "
			"factor than others. flamegrid.step() in the program makes the runs "
			"comparable.\n",
			prefix);
	note_lines(out, result, prefix);
	fprintf(out, "%s%s\n", prefix, units[result->unit]);
	if (result->alike != 0)
		fprintf(out,
			"%sKernels' durations changed alike, by %s: the GPUs' clock may be the "
			"cause; "
			"profiles do not have it.\n",
			prefix, check_words_percent(result->alike, text));
	if (result->other_gpus)
		fprintf(out,
			"%sThe runs had other GPUs of the same type, which may differ by 3 %%: "
			"give "
			"several baselines.\n",
			prefix);
	if (has_source(result, CHECK_FROM_LAUNCHES) || has_source(result, CHECK_FROM_NOTHING))
		fprintf(out,
			"%sThe profiles have too few single launches to tell how much a run "
			"varies: give three or more baselines, or longer runs.\n",
			prefix);
}
