#include "steps_writer.h"

#include <errno.h>
#include <inttypes.h>

#include "aggregator/profile/roster.h"
#include "report/model/report_summary.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"

#define NUMBER_SIZE 32u

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

static const struct text_column columns[] = {
	{"rank", 5, 0, false, 0},          {"steps", 7, 2, false, 12},
	{"mean", 10, 2, false, 6},         {"median", 10, 2, false, 0},
	{"p99", 10, 2, false, 2},          {"shortest", 10, 2, false, 9},
	{"longest", 10, 2, false, 1},      {"compute", 7, 2, false, 0},
	{"moves", 7, 2, false, 7},         {"waits", 7, 2, false, 8},
	{"NCCL", 7, 2, false, 5},          {"copies", 7, 2, false, 4},
	{"graphs", 7, 2, false, 10},       {"idle", 7, 2, false, 0},
	{"launch-bound", 12, 2, false, 3}, {"host", 0, 2, true, 11},
};

static void write_share(struct text_table *table, const struct step_sum *sum, uint64_t part_ns)
{
	if (part_ns)
		text_table_cell(table, "%.1f%%", 100.0 * (double)part_ns / (double)sum->sum_ns);
	else
		text_table_cell(table, "-");
}

static void write_sum(struct text_table *table, const struct steps_view *view,
		      const struct step_sum *sum)
{
	const struct roster_process *process = process_of(view, sum->process_id);
	const uint64_t *parts_ns = sum->parts_ns;
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
	write_share(table, sum, parts_ns[STEP_COMPUTE]);
	write_share(table, sum, parts_ns[STEP_NCCL_MOVES]);
	write_share(table, sum, parts_ns[STEP_NCCL_WAITS]);
	write_share(table, sum, parts_ns[STEP_NCCL]);
	write_share(table, sum, parts_ns[STEP_COPIES]);
	write_share(table, sum, parts_ns[STEP_GRAPHS]);
	write_share(table, sum,
		    parts_ns[STEP_IDLE_LAUNCHES] + parts_ns[STEP_IDLE_HOST] +
			    parts_ns[STEP_IDLE_START] + parts_ns[STEP_IDLE_UNKNOWN]);
	write_share(table, sum, parts_ns[STEP_IDLE_LAUNCHES]);
	text_table_cell(table, "%s pid %" PRIu32, host_of(view, sum->process_id),
			process->identity.pid);
}

static int write_table(FILE *out, const struct steps_view *view, const struct text_form *form)
{
	struct text_table table;
	bool has_first = false;

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < view->sums->nr_sums; i++) {
		write_sum(&table, view, &view->sums->sums[i]);
		has_first |= view->sums->sums[i].has_first;
	}
	if (text_table_end(&table))
		return -ENOMEM;
	if (has_first)
		fputs("\nthe first step of each process is left out\n", out);
	return text_file_flush(out);
}

/* ---- CSV */

struct step_line {                     /* a row with its process */
	const struct steps_view *view; /* NULL: of the heading */
	const struct step_row *row;
};

static void write_step(struct row_text *out, const void *of)
{
	const struct step_line *line = of;
	const struct step_row *row = line->row;
	const struct roster_process *process =
		line->view ? process_of(line->view, row->process_id) : NULL;

	row_text_number(out, "rank", process && process->rank >= 0, process ? process->rank : 0);
	row_text_string(out, "host", process ? host_of(line->view, row->process_id) : "");
	row_text_count(out, "pid", process ? process->identity.pid : 0);
	row_text_count(out, "tid", row->tid);
	row_text_count(out, "step", row->number);
	row_text_flag(out, "is_first", row->is_first);
	row_text_count(out, "begin_ns", line->view ? row->begin_ns - line->view->first_ns : 0);
	row_text_count(out, "step_ns", row->end_ns - row->begin_ns);
	for (uint32_t part = 0; part < STEP_PARTS; part++) {
		char name[NUMBER_SIZE];

		snprintf(name, sizeof(name), "%s_ns", step_rows_name((enum step_part)part));
		row_text_count(out, name, row->parts_ns[part]);
	}
	row_text_count(out, "longest_gap_ns", row->gap.end_ns - row->gap.begin_ns);
}

static void write_steps(FILE *out, const struct steps_view *view, const struct step_sum *sum,
			enum row_form form, const char *before)
{
	for (uint32_t i = sum->first; i < sum->end; i++) {
		const struct step_line line = {view, &view->rows->rows[i]};

		fputs(before, out);
		write_step(&(struct row_text){.out = out, .form = form}, &line);
	}
}

static int write_csv(FILE *out, const struct steps_view *view)
{
	const struct step_row none = {0};

	write_step(&(struct row_text){.out = out, .form = ROW_HEADING},
		   &(struct step_line){NULL, &none});
	for (uint32_t i = 0; i < view->sums->nr_sums; i++)
		write_steps(out, view, &view->sums->sums[i], ROW_CSV, "\n");
	fputc('\n', out);
	return text_file_flush(out);
}

int steps_writer_write(FILE *out, const struct steps_view *view, enum steps_format format,
		       const struct text_form *form)
{
	return format == STEPS_CSV ? write_csv(out, view) : write_table(out, view, form);
}
