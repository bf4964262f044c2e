#include "steps_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "step_words.h"

#include "aggregator/profile/roster.h"
#include "report/model/report_summary.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"

#define NUMBER_SIZE  32u
#define OUTLIERS_MAX 10u /* in a table: the slowest */

/* ---- processes */

static const struct roster_process *process_of(const struct steps_view *view, uint32_t id)
{
	return roster_process(view->profile->collection->roster, id);
}

/* "": it is not known, or there is no memory. */
static const char *host_of(const struct steps_view *view, uint32_t process_id)
{
	const struct roster_host *host = roster_host(view->profile->collection->roster,
						     process_of(view, process_id)->identity.host);
	uint32_t index;

	if (!host || report_names_string(view->names, host->node, &index))
		return "";
	return report_names_get(view->names, index);
}

/* ---- the table */

static const struct text_column time_columns[] = {
	{"rank", 5, 0, false, 0},     {"steps", 7, 2, false, 11}, {"mean", 10, 2, false, 9},
	{"median", 10, 2, false, 0},  {"p99", 10, 2, false, 4},   {"shortest", 10, 2, false, 10},
	{"longest", 10, 2, false, 1},
};

#define PART(part) (1u << (part))

/* Shares of the steps' time. A column in which all ranks have none is left out, unless it is always there. */
static const struct {
	struct text_column column;
	uint32_t parts; /* a set of enum step_part */
	bool is_always;
} share_columns[] = {
	{{"compute", 7, 2, false, 0}, PART(STEP_COMPUTE), true},
	{{"moves", 7, 2, false, 7}, PART(STEP_NCCL_MOVES), false},
	{{"waits", 7, 2, false, 3}, PART(STEP_NCCL_WAITS), false},
	{{"NCCL", 7, 2, false, 6}, PART(STEP_NCCL), false},
	{{"copies", 7, 2, false, 8}, PART(STEP_COPIES), false},
	{{"graphs", 7, 2, false, 2}, PART(STEP_GRAPHS), false},
	{{"idle", 7, 2, false, 0},
	 PART(STEP_IDLE_LAUNCHES) | PART(STEP_IDLE_HOST) | PART(STEP_IDLE_START) |
		 PART(STEP_IDLE_UNKNOWN),
	 true},
	{{"launch-bound", 12, 2, false, 5}, PART(STEP_IDLE_LAUNCHES), true},
};

#define SHARE_COLUMNS (sizeof(share_columns) / sizeof(*share_columns))

static uint64_t share_ns(const struct step_sum *sum, size_t column)
{
	uint64_t ns = 0;

	for (uint32_t part = 0; part < STEP_PARTS; part++)
		if (share_columns[column].parts & PART(part))
			ns += sum->parts_ns[part];
	return ns;
}

static bool is_shown(const struct steps_view *view, size_t column)
{
	bool shown = share_columns[column].is_always;

	for (uint32_t i = 0; i < view->sums->nr_sums && !shown; i++)
		shown = share_ns(&view->sums->sums[i], column) > 0;
	return shown;
}

static void write_share(struct text_table *table, const struct step_sum *sum, uint64_t part_ns)
{
	if (part_ns)
		text_table_cell(table, "%.1f%%", 100.0 * (double)part_ns / (double)sum->sum_ns);
	else
		text_table_cell(table, "-");
}

static void write_sum(struct text_table *table, const struct steps_view *view,
		      const struct step_sum *sum, const bool *shown)
{
	const struct roster_process *process = process_of(view, sum->process_id);
	const uint64_t times_ns[] = {sum->sum_ns / sum->nr_steps, sum->median_ns, sum->p99_ns,
				     sum->least_ns, sum->most_ns};
	char text[NUMBER_SIZE];

	if (process->rank >= 0)
		text_table_cell(table, "%" PRId32, process->rank);
	else
		text_table_cell(table, "-");
	text_table_cell(table, "%" PRIu32, sum->nr_steps);
	for (uint32_t i = 0; i < sizeof(times_ns) / sizeof(*times_ns); i++)
		text_table_cell(table, "%s", report_summary_time(times_ns[i], text));
	for (size_t i = 0; i < SHARE_COLUMNS; i++)
		if (shown[i])
			write_share(table, sum, share_ns(sum, i));
	text_table_cell(table, "%s pid %" PRIu32, host_of(view, sum->process_id),
			process->identity.pid);
}

/* Of several ranks with a trend the one with the largest is told. */
static void write_trends(FILE *out, const struct steps_view *view)
{
	const struct step_findings *findings = view->findings;
	char line[STEP_WORDS_SIZE];
	uint32_t largest = 0;
	double most = 0;

	for (uint32_t i = 0; i < findings->nr_trends; i++) {
		const struct step_trend *trend = &findings->trends[i];
		const double change = fabs(log((double)trend->end_ns / (double)trend->begin_ns));

		if (change > most) {
			most = change;
			largest = i;
		}
	}
	if (!findings->has_trends)
		fprintf(out, "fewer than %u steps: too few to tell whether they get slower\n",
			STEP_TREND_STEPS);
	else if (!findings->nr_trends)
		fputs("the steps get neither slower nor faster\n", out);
	else
		fputs(step_words_trend(view, largest, line, sizeof(line)), out);
	if (findings->nr_trends > 1)
		fprintf(out, "; those of %" PRIu32 " ranks change", findings->nr_trends);
	if (findings->nr_trends)
		fputc('\n', out);
}

/* Of a tenth of a rank's steps nobody expects that they stand out. */
static bool are_common(const struct steps_view *view, uint32_t nr_outliers)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < view->sums->nr_sums; i++)
		if (view->sums->sums[i].nr_steps > most)
			most = view->sums->sums[i].nr_steps;
	return nr_outliers > most / 10;
}

static void write_findings(FILE *out, const struct steps_view *view)
{
	const uint32_t nr = view->findings->nr_outliers;
	char line[STEP_WORDS_SIZE];

	for (uint32_t i = 0; i < nr && i < OUTLIERS_MAX; i++)
		fprintf(out, "%s\n", step_words_outlier(view, i, line, sizeof(line)));
	if (nr > OUTLIERS_MAX)
		fprintf(out, "%" PRIu32 " other steps were slow, too%s: -f json has all\n",
			nr - OUTLIERS_MAX,
			are_common(view, nr) ? ", so slow steps are no exception here" : "");
	if (!nr)
		fputs("no step took much longer than the others\n", out);
	write_trends(out, view);
}

static int write_table(FILE *out, const struct steps_view *view, const struct text_form *form)
{
	struct text_table table;
	bool has_first = false, shown[SHARE_COLUMNS];

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(time_columns) / sizeof(*time_columns); i++)
		text_table_column(&table, &time_columns[i]);
	for (size_t i = 0; i < SHARE_COLUMNS; i++) {
		shown[i] = is_shown(view, i);
		if (shown[i])
			text_table_column(&table, &share_columns[i].column);
	}
	text_table_column(&table, &(struct text_column){"host", 0, 2, true, 0});
	for (uint32_t i = 0; i < view->sums->nr_sums; i++) {
		write_sum(&table, view, &view->sums->sums[i], shown);
		has_first |= view->sums->sums[i].has_first;
	}
	if (text_table_end(&table))
		return -ENOMEM;
	fputc('\n', out);
	write_findings(out, view);
	if (has_first)
		fputs("the first step of each process is left out: it warms up\n", out);
	if (view->lacks)
		fprintf(out, "%s\n", view->lacks);
	return text_file_flush(out);
}

/* ---- CSV and JSON */

/* view NULL: of the heading. */
static void write_process(struct row_text *out, const struct steps_view *view, uint32_t id)
{
	const struct roster_process *process = view ? process_of(view, id) : NULL;

	row_text_number(out, "rank", process && process->rank >= 0, process ? process->rank : 0);
	row_text_string(out, "host", process ? host_of(view, id) : "");
	row_text_count(out, "pid", process ? process->identity.pid : 0);
}

static void write_parts(struct row_text *out, const uint64_t *parts_ns)
{
	for (uint32_t part = 0; part < STEP_PARTS; part++) {
		char name[NUMBER_SIZE];

		snprintf(name, sizeof(name), "%s_ns", step_rows_name((enum step_part)part));
		row_text_count(out, name, parts_ns[part]);
	}
}

struct step_line {                     /* a row with its process */
	const struct steps_view *view; /* NULL: of the heading */
	const struct step_row *row;
};

static void write_step(struct row_text *out, const void *of)
{
	const struct step_line *line = of;
	const struct step_row *row = line->row;

	write_process(out, line->view, row->process_id);
	row_text_count(out, "tid", row->tid);
	row_text_count(out, "step", row->number);
	row_text_flag(out, "is_first", row->is_first);
	row_text_count(out, "begin_ns", line->view ? row->begin_ns - line->view->first_ns : 0);
	row_text_count(out, "step_ns", row->end_ns - row->begin_ns);
	write_parts(out, row->parts_ns);
	row_text_count(out, "launched_earlier_ns", step_rows_earlier(row));
	row_text_count(out, "longest_gap_ns", row->gap.end_ns - row->gap.begin_ns);
}

static int write_csv(FILE *out, const struct steps_view *view)
{
	const struct step_row none = {0};

	write_step(&(struct row_text){.out = out, .form = ROW_HEADING},
		   &(struct step_line){NULL, &none});
	for (uint32_t i = 0; i < view->rows->nr_rows; i++) {
		const struct step_line line = {view, &view->rows->rows[i]};

		fputc('\n', out);
		write_step(&(struct row_text){.out = out, .form = ROW_CSV}, &line);
	}
	fputc('\n', out);
	return text_file_flush(out);
}

static void write_json_sum(struct row_text *out, const void *of)
{
	const struct step_sum *sum = of;

	write_process(out, out->context, sum->process_id);
	row_text_count(out, "steps", sum->nr_steps);
	row_text_count(out, "sum_ns", sum->sum_ns);
	row_text_count(out, "median_ns", sum->median_ns);
	row_text_count(out, "p99_ns", sum->p99_ns);
	row_text_count(out, "shortest_ns", sum->least_ns);
	row_text_count(out, "longest_ns", sum->most_ns);
	write_parts(out, sum->parts_ns);
}

static void write_json_outlier(struct row_text *out, const void *of)
{
	const struct step_outlier *outlier = of;
	const struct steps_view *view = out->context;
	const uint32_t index = (uint32_t)(outlier - view->findings->outliers);
	const struct step_place *place = &view->places->places[index];
	const struct step_row *row = &view->rows->rows[outlier->row];
	char line[STEP_WORDS_SIZE];

	write_process(out, view, row->process_id);
	row_text_count(out, "step", row->number);
	row_text_count(out, "begin_ns", row->begin_ns - view->first_ns);
	row_text_count(out, "step_ns", row->end_ns - row->begin_ns);
	row_text_count(out, "ranks", outlier->nr_ranks);
	row_text_count(out, "more_ns", outlier->more_ns);
	row_text_string(out, "part", step_rows_name(outlier->part));
	row_text_count(out, "part_more_ns", outlier->part_more_ns);
	row_text_count(out, "earlier_more_ns", outlier->earlier_more_ns);
	row_text_string(out, "launched_before", report_names_get(view->names, place->before));
	row_text_string(out, "launched_after", report_names_get(view->names, place->after));
	row_text_string(out, "within", report_names_get(view->names, place->within));
	row_text_count(out, "within_ns", place->within_ns);
	row_text_string(out, "text", step_words_outlier(view, index, line, sizeof(line)));
}

static void write_json_trend(struct row_text *out, const void *of)
{
	const struct step_trend *trend = of;
	const struct steps_view *view = out->context;
	const uint32_t index = (uint32_t)(trend - view->findings->trends);
	char line[STEP_WORDS_SIZE];

	write_process(out, view, view->sums->sums[trend->sum].process_id);
	row_text_count(out, "begin_ns", trend->begin_ns);
	row_text_count(out, "end_ns", trend->end_ns);
	row_text_string(out, "part", step_rows_name(trend->part));
	row_text_string(out, "text", step_words_trend(view, index, line, sizeof(line)));
}

static void write_json_step(struct row_text *out, const void *of)
{
	write_step(out, &(struct step_line){out->context, of});
}

static int write_json(FILE *out, const struct steps_view *view)
{
	const struct step_findings *findings = view->findings;

	json_text_begin(out, view->profile->title ? view->profile->title : "");
	json_text_member(out, "lacks", view->lacks ? view->lacks : "");
	row_text_json(out, "step_ranks", write_json_sum, view, view->sums->sums,
		      view->sums->nr_sums, sizeof(*view->sums->sums));
	fputs(",\n", out);
	row_text_json(out, "outliers", write_json_outlier, view, findings->outliers,
		      findings->nr_outliers, sizeof(*findings->outliers));
	fputs(",\n", out);
	row_text_json(out, "trends", write_json_trend, view, findings->trends, findings->nr_trends,
		      sizeof(*findings->trends));
	fputs(",\n", out);
	row_text_json(out, "steps", write_json_step, view, view->rows->rows, view->rows->nr_rows,
		      sizeof(*view->rows->rows));
	fputs("}\n", out);
	return text_file_flush(out);
}

int steps_writer_write(FILE *out, const struct steps_view *view, enum steps_format format,
		       const struct text_form *form)
{
	if (format == STEPS_JSON)
		return write_json(out, view);
	return format == STEPS_CSV ? write_csv(out, view) : write_table(out, view, form);
}
