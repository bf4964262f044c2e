#include "parallel_writer.h"

#include <inttypes.h>

#include "experts_text.h"
#include "straggler_text.h"

#include "report/model/report_summary.h"
#include "report/names/text_line.h"
#include "report/writers/row_text.h"

#define NUMBER_SIZE 32u

struct stage {
	const struct report_straggler *straggler;
	const struct straggler_pipeline_stage *of;
	uint32_t number;
};

/* The pipelines' place among the communicators. */
static const struct report_straggler_communicator *
pipelines_of(const struct report_straggler *straggler)
{
	return &straggler->communicators[straggler->nr_communicators];
}

/* The rank of the job; below 0: not known. */
static int32_t rank_of(const struct stage *stage, uint32_t index)
{
	const struct report_straggler_member *member =
		&pipelines_of(stage->straggler)->members[stage->of->first + index];

	return stage->straggler->ranks[member->of_rank].rank;
}

static bool is_late(const struct stage *stage)
{
	const struct report_straggler_communicator *pipelines = pipelines_of(stage->straggler);

	for (uint32_t i = 0; i < pipelines->nr_groups; i++)
		if (pipelines->groups[i].kind == STRAGGLER_GROUP_STAGE &&
		    pipelines->groups[i].number == stage->number)
			return true;
	return stage->of->nr_ranks == 1 && pipelines->members[stage->of->first].found.ground;
}

static struct stage stage_of(const struct report_straggler *straggler, uint32_t number)
{
	return (struct stage){straggler, &straggler->pipeline->of_stage[number], number};
}

/* ---- table */

static uint64_t each(const struct stage *stage, uint64_t ns)
{
	const uint64_t steps = stage->straggler->pipeline->steps;

	return steps ? ns / steps : ns;
}

static void write_ranks(FILE *out, const struct stage *stage)
{
	const uint32_t count = stage->of->nr_ranks;

	for (uint32_t i = 0, next; i < count; i = next) {
		const int32_t first = rank_of(stage, i);
		int32_t last = first;

		for (next = i + 1; next < count && rank_of(stage, next) == last + 1; next++)
			last++;
		fprintf(out, "%s%" PRId32, i ? " " : "", first);
		if (last > first)
			fprintf(out, "-%" PRId32, last);
	}
}

static void write_stage(FILE *out, const struct stage *stage)
{
	const struct straggler_times *times = &stage->of->times;
	const double all = (double)times->compute_ns + (double)times->waits_ns +
			   (double)times->moves_ns + (double)times->idle_ns;
	const double bubble = (double)times->waits_ns + (double)times->idle_ns;
	char compute[NUMBER_SIZE], waits[NUMBER_SIZE], moves[NUMBER_SIZE], idle[NUMBER_SIZE];

	fprintf(out, "%5" PRIu32 "%s %12s %12s %12s %12s %7.2f%%  ", stage->number,
		is_late(stage) ? "*" : " ",
		report_summary_time(each(stage, times->compute_ns), compute),
		report_summary_time(each(stage, times->waits_ns), waits),
		report_summary_time(each(stage, times->moves_ns), moves),
		report_summary_time(each(stage, times->idle_ns), idle),
		all > 0 ? 100 * bubble / all : 0);
	write_ranks(out, stage);
	fputc('\n', out);
}

static void write_stages(FILE *out, const struct report_straggler *straggler)
{
	const struct straggler_pipeline *pipeline = straggler->pipeline;
	char count[NUMBER_SIZE], step[NUMBER_SIZE];

	if (!pipeline->fold.used) {
		fputs("\nnote: the stages of the pipeline are not compared: the kernels of NCCL of "
		      "a "
		      "rank are not known\n",
		      out);
		return;
	}
	if (pipeline->steps)
		fprintf(out, "\n%s steps of %s, each:\n",
			report_summary_count(pipeline->steps, count),
			report_summary_time(pipeline->span_ns / pipeline->steps, step));
	else
		fprintf(out, "\nin the whole run, %s:\n",
			report_summary_time(pipeline->span_ns, step));
	fprintf(out, "%5s  %12s %12s %12s %12s %8s  %s\n", "stage", "compute", "waits", "moves",
		"idle", "bubble", "ranks");
	for (uint32_t i = 0; i < pipeline->stages.nr_stages; i++) {
		const struct stage stage = stage_of(straggler, i);

		write_stage(out, &stage);
	}
}

static void write_experts(FILE *out, const struct report_straggler *straggler,
			  const struct report_straggler_experts *experts)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	if (experts->member != REPORT_STRAGGLER_NONE) {
		const struct report_straggler_communicator *of =
			&straggler->communicators[experts->communicator];

		straggler_text_rank(line, sizeof(line), straggler,
				    &straggler->ranks[of->members[experts->member].of_rank]);
		text_line_append(line, sizeof(line), ", in exchanges of %s: ", of->name);
	}
	experts_text_append(line, sizeof(line), straggler, experts);
	fprintf(out, "%s\n", line);
}

void parallel_writer_table(FILE *out, const struct report_straggler *straggler)
{
	if (straggler->pipeline)
		write_stages(out, straggler);
	if (straggler->nr_experts)
		fputc('\n', out);
	for (uint32_t i = 0; i < straggler->nr_experts; i++)
		write_experts(out, straggler, &straggler->experts[i]);
}

/* ---- JSON */

static void write_stage_row(struct row_text *out, const struct stage *stage)
{
	const struct straggler_times *times = &stage->of->times;

	row_text_count(out, "stage", stage->number);
	row_text_print(out, "ranks", "[");
	for (uint32_t i = 0; i < stage->of->nr_ranks; i++)
		fprintf(out->out, "%s%" PRId32, i ? ", " : "", rank_of(stage, i));
	fputc(']', out->out);
	row_text_flag(out, "late", is_late(stage));
	row_text_count(out, "compute_ns", times->compute_ns);
	row_text_count(out, "wait_ns", times->waits_ns);
	row_text_count(out, "move_ns", times->moves_ns);
	row_text_count(out, "idle_ns", times->idle_ns);
}

static void write_pipeline(FILE *out, const struct report_straggler *straggler)
{
	const struct straggler_pipeline *pipeline = straggler->pipeline;
	struct row_text row = {.out = out};

	fputs("\"pipeline\":", out);
	if (!pipeline) {
		fputs("null", out);
		return;
	}
	fputc('{', out);
	row_text_count(&row, "pipelines", pipeline->stages.nr_pipelines);
	row_text_flag(&row, "compared", pipeline->fold.used > 0);
	row_text_number(&row, "steps", pipeline->steps > 0, (int64_t)pipeline->steps);
	row_text_count(&row, "span_ns", pipeline->span_ns);
	row_text_print(&row, "stages", "[");
	for (uint32_t i = 0; i < pipeline->stages.nr_stages; i++) {
		const struct stage stage = stage_of(straggler, i);

		fputs(i ? ",\n{" : "\n{", out);
		write_stage_row(&(struct row_text){.out = out}, &stage);
		fputc('}', out);
	}
	fputs("]}", out);
}

/* JSON has null for what is not known. */
static void write_times(struct row_text *out, const char *name, double times)
{
	if (times > 0)
		row_text_print(out, name, "%.4f", times);
	else
		row_text_number(out, name, false, 0);
}

static void write_experts_row(struct row_text *out, const void *row)
{
	const struct report_straggler *straggler = out->context;
	const struct report_straggler_experts *experts = row;
	const struct report_straggler_communicator *of =
		&straggler->communicators[experts->communicator];
	const int32_t rank = experts->member == REPORT_STRAGGLER_NONE
				     ? -1
				     : straggler->ranks[of->members[experts->member].of_rank].rank;

	row_text_print(out, "communicator", "\"%016" PRIx64 "\"", of->fold->key);
	row_text_string(out, "name", of->name);
	row_text_flag(out, "imbalance", experts->member == REPORT_STRAGGLER_NONE);
	row_text_number(out, "rank", rank >= 0, rank);
	row_text_number(out, "steps", experts->steps > 0, (int64_t)experts->steps);
	row_text_count(out, "wait_ns", experts->waited_ns);
	row_text_print(out, "share", "%.6f", experts->share);
	write_times(out, "gpu_times", experts->gpu_times);
	write_times(out, "bytes_times", experts->bytes_times);
}

void parallel_writer_json(FILE *out, const struct report_straggler *straggler)
{
	write_pipeline(out, straggler);
	fputs(",\n", out);
	row_text_json(out, "experts", write_experts_row, straggler, straggler->experts,
		      straggler->nr_experts, sizeof(*straggler->experts));
}
