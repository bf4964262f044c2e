#include "metrics_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_summary.h"

#include "report/digest/metric_callers.h"
#include "report/metrics/metric_figures.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"

#define NUMBER_SIZE 32u
#define KILO        1000.0
#define TOP         20u /* by default */
#define RANGE       "[range] "
#define TOO_LOW     " (too low: the measurement's own time is in it)"

/* A row, or one of its metrics. */
struct entry {
	const struct report_tree *tree; /* NULL: a row of zeroes */
	const struct report_metric_row *row;
	const struct report_metric *metric;
};

static struct metric_figures figures_of(const struct report_tree *tree,
					const struct report_metric_row *row)
{
	return metric_figures_of(tree->metrics, row);
}

/* ---- tables */

/* A rate of 1e9 a second, with the prefix that keeps it short. */
static void write_rate(struct text_table *table, double giga, const char *unit)
{
	if (isnan(giga))
		text_table_cell(table, "%s", "-");
	else if (giga >= KILO)
		text_table_cell(table, "%.2f T%s", giga / KILO, unit);
	else if (giga >= 1 || giga == 0)
		text_table_cell(table, "%.1f G%s", giga, unit);
	else
		text_table_cell(table, "%.1f M%s", giga * KILO, unit);
}

static bool has_share(double part, double whole)
{
	return !isnan(part) && whole > 0;
}

static void write_share(struct text_table *table, double part, double whole)
{
	char text[NUMBER_SIZE];

	if (!has_share(part, whole))
		text_table_cell(table, "%s", "-");
	else
		text_table_cell(table, "%s", report_summary_share(part, whole, text));
}

/* Columns that are left out where no row has the figure. */
enum figure_column {
	FIGURE_DRAM = 1u << 0,
	FIGURE_DRAM_SHARE = 1u << 1,
	FIGURE_TENSOR = 1u << 2,
	FIGURE_TENSOR_SHARE = 1u << 3,
	FIGURE_INTENSITY = 1u << 4,
};

/* Returns a set of enum figure_column. */
static uint32_t figures_in(const struct report_tree *tree, uint32_t nr_rows)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct metric_figures figures = figures_of(tree, &tree->metrics->rows[i]);

		if (!isnan(figures.bytes_per_ns))
			known |= FIGURE_DRAM;
		if (has_share(figures.bytes_per_ns, figures.bytes_peak_per_ns))
			known |= FIGURE_DRAM_SHARE;
		if (!isnan(figures.flops_per_ns))
			known |= FIGURE_TENSOR;
		if (has_share(figures.flops_per_ns, figures.flops_peak_per_ns))
			known |= FIGURE_TENSOR_SHARE;
		if (!isnan(figures.flops_per_byte))
			known |= FIGURE_INTENSITY;
	}
	return known;
}

/* shown: a set of enum figure_column. */
static void write_row(struct text_table *table, const struct report_tree *tree,
		      const struct report_metric_row *row, const char *caller, uint32_t shown)
{
	const struct metric_figures figures = figures_of(tree, row);
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_time(row->ns, text));
	text_table_cell(table, "%s", report_summary_count(row->launches, text));
	text_table_cell(table, "%s%s", row->nr_passes > 1 ? "*" : "",
			report_summary_count(row->measured, text));
	if (shown & FIGURE_DRAM)
		write_rate(table, figures.bytes_per_ns, "B/s");
	if (shown & FIGURE_DRAM_SHARE)
		write_share(table, figures.bytes_per_ns, figures.bytes_peak_per_ns);
	if (shown & FIGURE_TENSOR)
		write_rate(table, figures.flops_per_ns, "FLOP/s");
	if (shown & FIGURE_TENSOR_SHARE)
		write_share(table, figures.flops_per_ns, figures.flops_peak_per_ns);
	if (isnan(figures.flops_per_byte) && shown & FIGURE_INTENSITY)
		text_table_cell(table, "%s", "-");
	else if (shown & FIGURE_INTENSITY)
		text_table_cell(table, "%.1f", figures.flops_per_byte);
	text_table_cell(table, "%s%s", row->is_range ? RANGE : "", row->kernel);
	text_table_cell(table, "%s", caller);
}

static const char *heading_of(const struct report_metrics *metrics)
{
	bool kernels = false, ranges = false;

	for (uint32_t i = 0; i < metrics->nr_rows; i++) {
		kernels |= !metrics->rows[i].is_range;
		ranges |= metrics->rows[i].is_range;
	}
	return !ranges ? "kernels" : kernels ? "kernels and ranges" : "ranges";
}

static int write_rows(FILE *out, const struct report_tree *tree, const struct text_form *form,
		      const struct metric_callers *callers, uint32_t top)
{
	char type[METRIC_FIGURES_TYPE], tensor[NUMBER_SIZE];
	const struct {
		struct text_column column;
		uint32_t figure; /* 0: the column is always there */
	} columns[] = {
		{{"time", 14, 0, false, 0}, 0},
		{{"launches", 12, 1, false, 4}, 0},
		{{"measured", 9, 1, false, 3}, 0},
		{{"DRAM", 12, 1, false, 0}, FIGURE_DRAM},
		{{"of peak", 8, 1, false, 0}, FIGURE_DRAM_SHARE},
		{{tensor, 14, 1, false, 0}, FIGURE_TENSOR},
		{{"of peak", 8, 1, false, 0}, FIGURE_TENSOR_SHARE},
		{{"FLOP/B", 9, 1, false, 2}, FIGURE_INTENSITY},
		{{"kernel", 24, 2, true, 0}, 0},
		{{"launched by", 0, 2, true, 1}, 0},
	};
	const struct report_metrics *metrics = tree->metrics;
	const uint32_t nr_rows = metrics->nr_rows < top ? metrics->nr_rows : top;
	const uint32_t shown = figures_in(tree, nr_rows);
	struct text_table table;
	char text[NUMBER_SIZE];

	fprintf(out, "\nMeasured %s\n", heading_of(metrics));
	const char *types = metric_figures_type(metrics, type);
	snprintf(tensor, sizeof(tensor), *types ? "tensor %s" : "tensor", types);
	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!columns[i].figure || shown & columns[i].figure)
			text_table_column(&table, &columns[i].column);
	for (uint32_t i = 0; i < nr_rows; i++)
		write_row(&table, tree, &metrics->rows[i], callers->texts[i], shown);
	int error = text_table_end(&table);
	if (metrics->nr_rows > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(metrics->nr_rows - top, text));
	return error;
}

static uint64_t most_passes(const struct report_metrics *metrics)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < metrics->nr_rows; i++)
		if (metrics->rows[i].nr_passes > most)
			most = metrics->rows[i].nr_passes;
	return most;
}

/* Three figures of a metric; NAN: none of its values was a number. */
struct values {
	double mean, min, max;
};

static struct values values_of(const struct report_metric *metric)
{
	if (metric->count == 0)
		return (struct values){NAN, NAN, NAN};
	return (struct values){metric->sum / (double)metric->count, metric->min, metric->max};
}

static void write_value(struct text_table *table, double value)
{
	if (isnan(value))
		text_table_cell(table, "%s", "-");
	else
		text_table_cell(table, "%.8g", value);
}

static int write_all(FILE *out, const struct report_tree *tree, const struct text_form *form,
		     const struct report_metric_row *row, const char *caller)
{
	struct text_table table;

	fprintf(out, "\n%s%s, launched by %s\n", row->is_range ? RANGE : "", row->kernel, caller);
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"mean", 16, 0, false, 0});
	text_table_column(&table, &(struct text_column){"min", 16, 1, false, 0});
	text_table_column(&table, &(struct text_column){"max", 16, 1, false, 0});
	text_table_column(&table, &(struct text_column){"metric", 0, 2, true, 0});
	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &tree->metrics->metrics[row->first + i];

		const struct values values = values_of(metric);

		write_value(&table, values.mean);
		write_value(&table, values.min);
		write_value(&table, values.max);
		const char *doubt = metric_figures_are_low(metric) ? TOO_LOW : "";
		if (metric->count < row->measured)
			text_table_cell(&table,
					"%s (%" PRIu64 " of %" PRIu64 " measurements have it)%s",
					metric->name, metric->count, row->measured, doubt);
		else
			text_table_cell(&table, "%s%s", metric->name, doubt);
	}
	return text_table_end(&table);
}

static int write_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
		       const struct metric_callers *callers, uint32_t top)
{
	const int error = write_rows(out, tree, form, callers, top);
	const uint64_t passes = most_passes(tree->metrics);

	if (passes > 1)
		fprintf(out,
			"* a measurement takes up to %" PRIu64
			" launches or ranges, each of which counts a part.\n"
			"  Where these are too few, there are fewer measurements than --launches "
			"asks for.\n",
			passes);
	return error;
}

int metrics_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top)
{
	struct metric_callers callers;

	if (!tree->metrics)
		return 0;
	int error = metric_callers_init(&callers, tree);
	if (!error)
		error = write_table(out, tree, form, &callers, top);
	metric_callers_fini(&callers);
	return error;
}

int metrics_writer_report(FILE *out, const struct report_tree *tree, const struct text_form *form,
			  uint32_t top)
{
	const struct report_metrics *metrics = tree->metrics;
	struct metric_callers callers;
	int error = metric_callers_init(&callers, tree);

	if (error)
		return error;
	if (top == 0)
		top = TOP;
	report_summary_title(out, tree);
	if (!metrics) {
		fputc('\n', out);
		metrics_summary_none(out, tree);
	} else {
		error = write_table(out, tree, form, &callers, top);
	}
	for (uint32_t i = 0; i < callers.nr && i < top && !error; i++)
		error = write_all(out, tree, form, &metrics->rows[i], callers.texts[i]);
	metric_callers_fini(&callers);
	fputc('\n', out);
	report_summary_write(out, tree, "");
	report_summary_notices(out, tree, "");
	return error ? error : text_file_flush(out);
}

/* ---- JSON and CSV */

static void write_number(struct row_text *out, const char *name, double value)
{
	if (isfinite(value))
		row_text_print(out, name, "%.17g", value);
	else
		row_text_number(out, name, false, 0);
}

static void write_subject(struct row_text *out, const struct entry *entry)
{
	const struct report_metric_row none = {.kernel = ""},
				       *row = entry->row ? entry->row : &none;

	row_text_string(out, "kernel", row->kernel);
	row_text_flag(out, "range", row->is_range);
	row_text_stack(out, "stack", entry->tree ? entry->tree->nodes : NULL,
		       entry->tree ? entry->tree->strings : NULL, row->node);
	row_text_count(out, "launches", row->launches);
	row_text_count(out, "ns", row->ns);
	row_text_count(out, "measured", row->measured);
	row_text_count(out, "passes", row->nr_passes);
	row_text_count(out, "measured_ns", row->measured_ns);
}

static void write_values(struct row_text *out, const struct report_metric *metric)
{
	const struct values values = values_of(metric);

	row_text_count(out, "count", metric->count);
	write_number(out, "mean", values.mean);
	write_number(out, "min", values.min);
	write_number(out, "max", values.max);
	row_text_flag(out, "too_low", metric_figures_are_low(metric));
}

static void write_line(struct row_text *out, const void *of)
{
	const struct entry *entry = of;
	const struct report_metric none = {.name = ""},
				   *metric = entry->metric ? entry->metric : &none;

	write_subject(out, entry);
	row_text_string(out, "metric", metric->name);
	write_values(out, metric);
}

static void write_metric(struct row_text *out, const void *of)
{
	const struct report_metric *metric = of;

	row_text_string(out, "name", metric->name);
	write_values(out, metric);
}

/* What an array is written from. */
struct table {
	const struct report_tree *tree;
	const struct metric_callers *callers;
};

static void write_object(struct row_text *out, const void *of)
{
	const struct table *table = out->context;
	const struct entry entry = {table->tree, of, NULL};
	const struct metric_figures figures = figures_of(entry.tree, entry.row);

	write_subject(out, &entry);
	row_text_string(out, "launched_by",
			table->callers->texts[entry.row - entry.tree->metrics->rows]);
	write_number(out, "bytes_per_ns", figures.bytes_per_ns);
	write_number(out, "bytes_peak_per_ns", figures.bytes_peak_per_ns);
	write_number(out, "flops_per_ns", figures.flops_per_ns);
	write_number(out, "flops_peak_per_ns", figures.flops_peak_per_ns);
	write_number(out, "flops_per_byte", figures.flops_per_byte);
	fputc(',', out->out);
	row_text_json(out->out, "metrics", write_metric, NULL,
		      &entry.tree->metrics->metrics[entry.row->first], entry.row->nr,
		      sizeof(struct report_metric));
}

int metrics_writer_json(FILE *out, const struct report_tree *tree)
{
	struct metric_callers callers;

	if (!tree->metrics)
		return 0;
	const int error = metric_callers_init(&callers, tree);
	if (error)
		return error;
	row_text_json(out, "kernel_metrics", write_object, &(struct table){tree, &callers},
		      tree->metrics->rows, tree->metrics->nr_rows, sizeof(*tree->metrics->rows));
	fputs(",\n", out);
	metric_callers_fini(&callers);
	return 0;
}

int metrics_writer_csv(FILE *out, const struct report_tree *tree)
{
	const struct report_metrics *metrics = tree->metrics;
	const struct entry nothing = {0};
	struct entry *entries = calloc(metrics ? metrics->nr_metrics : 1, sizeof(*entries));
	uint32_t nr = 0;

	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; metrics && i < metrics->nr_rows; i++)
		for (uint32_t k = 0; k < metrics->rows[i].nr; k++)
			entries[nr++] =
				(struct entry){tree, &metrics->rows[i],
					       &metrics->metrics[metrics->rows[i].first + k]};
	row_text_csv(out, write_line, &nothing, entries, nr, sizeof(*entries));
	free(entries);
	return text_file_flush(out);
}
