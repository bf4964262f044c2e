#include "kernels_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/model/report_groups.h"
#include "report/model/report_summary.h"
#include "report/writers/durations_writer.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"

#define ROWS_MAX    40u /* of a table */
#define NUMBER_SIZE 32u

/* Returns the name without the kind before it: "gemm", "HtoD". "": it has none, or there is no memory. */
static const char *name_of(const struct kernels_view *view, const struct kernel_time *time)
{
	const struct fold_key key = {
		.name_id = time->name_id, .kind = time->kind, .copy_kind = time->copy_kind};
	uint32_t leaf;

	if (report_names_leaf(view->names, &key, REPORT_GPU_ANY, &leaf))
		return "";
	const char *text = report_names_get(view->names, leaf), *end = strchr(text, ']');
	return end ? end + 1 : text;
}

static const struct kernel_place *place_of(const struct kernels_view *view,
					   const struct kernel_time *time)
{
	return &view->places->places[time - view->times->times];
}

static void write_line(struct text_table *table, const struct kernels_view *view,
		       const struct kernel_time *time)
{
	const struct kernel_place *place = place_of(view, time);
	const char *const *strings = view->places->strings;

	if (!place->line)
		text_table_cell(table, "%s%s%s", strings[place->range], place->range ? " > " : "",
				time->stack_id ? "-" : "launch not known");
	else
		text_table_cell(table, "%s%s%s%s%s", strings[place->range],
				place->range ? " > " : "", strings[place->caller],
				place->caller ? " > " : "", strings[place->line]);
}

static uint64_t mean_of(struct kernel_slice slice)
{
	return slice.count ? slice.ns / slice.count : 0;
}

/* ---- the table */

static void write_change(struct text_table *table, const struct kernel_time *time)
{
	const struct kernel_slice first = kernel_times_half(time, 0),
				  second = kernel_times_half(time, 1);

	if (!first.ns || !second.count)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%+.1f%%",
				100 * ((double)second.ns / (double)second.count /
					       ((double)first.ns / (double)first.count) -
				       1));
	text_table_cell(table, "%s",
			!time->drifts                               ? ""
			: time->drift_end_ns > time->drift_begin_ns ? "slower"
								    : "faster");
}

static void write_row(struct text_table *table, const struct kernels_view *view,
		      const struct kernel_time *time)
{
	char text[NUMBER_SIZE];
	const uint64_t times_ns[] = {time->ns, time->ns / time->count,
				     mean_of(kernel_times_half(time, 0)),
				     mean_of(kernel_times_half(time, 1))};

	text_table_cell(table, "%" PRIu64, time->count);
	for (uint32_t i = 0; i < sizeof(times_ns) / sizeof(*times_ns); i++)
		text_table_cell(table, "%s",
				times_ns[i] ? report_summary_time(times_ns[i], text) : "-");
	write_change(table, time);
	text_table_cell(table, "%.3f s", (double)(time->first_ns - view->first_ns) * 1e-9);
	text_table_cell(table, "%.3f s", (double)(time->last_ns - view->first_ns) * 1e-9);
	text_table_cell(table, "%s%s%s", report_groups_kind(time->kind),
			*name_of(view, time) ? " " : "", name_of(view, time));
	if (view->times->by_stack)
		write_line(table, view, time);
}

static int write_table(FILE *out, const struct kernels_view *view, const struct text_form *form)
{
	static const struct text_column columns[] = {
		{"count", 8, 0, false, 3},        {"time", 10, 2, false, 0},
		{"mean", 10, 2, false, 6},        {"first half", 10, 2, false, 4},
		{"second half", 11, 2, false, 5}, {"change", 7, 2, false, 0},
		{"drift", 6, 2, true, 0},         {"first", 9, 2, false, 2},
		{"last", 9, 2, false, 1},         {"name", 0, 2, true, 0},
	};
	static const struct text_column line = {"launched in", 0, 2, true, 0};
	const struct kernel_times *times = view->times;
	struct text_table table;
	uint32_t nr_drifts = 0;

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	if (times->by_stack)
		text_table_column(&table, &line);
	for (uint32_t i = 0; i < times->nr_times; i++) {
		nr_drifts += times->times[i].drifts;
		if (i < ROWS_MAX)
			write_row(&table, view, &times->times[i]);
	}
	if (text_table_end(&table))
		return -ENOMEM;
	if (times->nr_times > ROWS_MAX)
		fprintf(out, "and %" PRIu32 " others: -f csv has all\n",
			times->nr_times - ROWS_MAX);
	fprintf(out,
		"\nhalves of %.3f s; %" PRIu32 " of %" PRIu32
		" get slower or faster beyond chance\n",
		(double)(times->to_ns - times->from_ns) * 1e-9, nr_drifts, times->nr_times);
	if (view->lacks)
		fprintf(out, "%s\n", view->lacks);
	return text_file_flush(out);
}

/* ---- CSV and JSON */

static void write_slices(struct row_text *out, const struct kernel_time *time)
{
	row_text_print(out, "slices", "[");
	for (uint32_t i = 0; i < KERNEL_TIMES_SLICES; i++)
		fprintf(out->out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			time->slices[i].count, time->slices[i].ns);
	fputc(']', out->out);
}

static void write_bins(struct row_text *out, const struct kernel_time *time)
{
	struct duration_bin list[DURATION_BUCKETS];

	durations_writer_bins(out, list, duration_bins_list(&time->bins, list));
}

struct line { /* view NULL: of the heading */
	const struct kernels_view *view;
	const struct kernel_time *time;
};

static void write_stack(struct row_text *out, const struct line *line)
{
	const struct kernels_view *view = line->view;

	if (view && view->times->by_stack)
		row_text_stack(out, "stack", view->places->nodes, view->places->strings,
			       place_of(view, line->time)->node);
	else
		row_text_print(out, "stack", out->form == ROW_JSON ? "null" : "");
}

static void write_time(struct row_text *out, const void *of)
{
	const struct line *line = of;
	const struct kernel_time *time = line->time;
	const uint64_t origin_ns = line->view ? line->view->first_ns : 0;

	row_text_string(out, "kind", report_groups_kind(time->kind));
	row_text_string(out, "name", line->view ? name_of(line->view, time) : "");
	row_text_count(out, "count", time->count);
	row_text_count(out, "ns", time->ns);
	write_bins(out, time);
	row_text_count(out, "first_ns", time->first_ns - origin_ns);
	row_text_count(out, "last_ns", time->last_ns - origin_ns);
	row_text_count(out, "first_half_count", kernel_times_half(time, 0).count);
	row_text_count(out, "first_half_ns", kernel_times_half(time, 0).ns);
	row_text_count(out, "second_half_count", kernel_times_half(time, 1).count);
	row_text_count(out, "second_half_ns", kernel_times_half(time, 1).ns);
	row_text_number(out, "drift_begin_ns", time->drifts, (int64_t)time->drift_begin_ns);
	row_text_number(out, "drift_end_ns", time->drifts, (int64_t)time->drift_end_ns);
	if (out->form == ROW_JSON)
		write_slices(out, time);
	write_stack(out, line);
}

static int write_csv(FILE *out, const struct kernels_view *view)
{
	const struct kernel_time none = {0};

	write_time(&(struct row_text){.out = out, .form = ROW_HEADING},
		   &(struct line){NULL, &none});
	for (uint32_t i = 0; i < view->times->nr_times; i++) {
		fputc('\n', out);
		write_time(&(struct row_text){.out = out, .form = ROW_CSV},
			   &(struct line){view, &view->times->times[i]});
	}
	fputc('\n', out);
	return text_file_flush(out);
}

static void write_json_time(struct row_text *out, const void *of)
{
	write_time(out, &(struct line){out->context, of});
}

static int write_json(FILE *out, const struct kernels_view *view)
{
	const struct kernel_times *times = view->times;

	json_text_begin(out, view->profile->title ? view->profile->title : "");
	json_text_member(out, "lacks", view->lacks ? view->lacks : "");
	fprintf(out, "\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 ",\"left_out\":%" PRIu64 ",\n",
		times->from_ns - view->first_ns, times->to_ns - view->first_ns, times->nr_left_out);
	row_text_json(out, "kernel_times", write_json_time, view, times->times, times->nr_times,
		      sizeof(*times->times));
	fputs("}\n", out);
	return text_file_flush(out);
}

int kernels_writer_write(FILE *out, const struct kernels_view *view, enum steps_format format,
			 const struct text_form *form)
{
	if (format == STEPS_JSON)
		return write_json(out, view);
	return format == STEPS_CSV ? write_csv(out, view) : write_table(out, view, form);
}
