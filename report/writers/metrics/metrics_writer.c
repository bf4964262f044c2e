#include "metrics_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

static const char *kernel_of(const struct entry *entry)
{
	return entry->tree ? entry->row->kernel : "";
}

/* The frame that made the call. The innermost one is the call. */
static const char *caller_of(const struct report_tree *tree, const struct report_metric_row *row)
{
	const uint32_t parent = tree->nodes[row->node].parent;

	return tree->strings[tree->nodes[parent == REPORT_NODE_ROOT ? row->node : parent].name];
}

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

static void write_share(struct text_table *table, double part, double whole)
{
	char text[NUMBER_SIZE];

	if (isnan(part) || isnan(whole) || whole <= 0)
		text_table_cell(table, "%s", "-");
	else
		text_table_cell(table, "%s", report_summary_share(part, whole, text));
}

static void write_row(struct text_table *table, const struct report_tree *tree,
		      const struct report_metric_row *row)
{
	const struct metric_figures figures = figures_of(tree, row);
	const struct entry entry = {tree, row, NULL};
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_time(row->ns, text));
	text_table_cell(table, "%s", report_summary_count(row->launches, text));
	text_table_cell(table, "%s%s", row->nr_passes > 1 ? "*" : "",
			report_summary_count(row->measured, text));
	write_rate(table, figures.bytes_per_ns, "B/s");
	write_share(table, figures.bytes_per_ns, figures.bytes_peak_per_ns);
	write_rate(table, figures.flops_per_ns, "FLOP/s");
	write_share(table, figures.flops_per_ns, figures.flops_peak_per_ns);
	if (isnan(figures.flops_per_byte))
		text_table_cell(table, "%s", "-");
	else
		text_table_cell(table, "%.1f", figures.flops_per_byte);
	text_table_cell(table, "%s%s", row->is_range ? RANGE : "", kernel_of(&entry));
	text_table_cell(table, "%s", caller_of(tree, row));
}

static int write_rows(FILE *out, const struct report_tree *tree, const struct text_form *form,
		      uint32_t top)
{
	char type[METRIC_FIGURES_TYPE], tensor[NUMBER_SIZE];
	const struct text_column columns[] = {
		{"time", 14, 0, false, 0},    {"launches", 12, 1, false, 4},
		{"measured", 9, 1, false, 3}, {"DRAM", 12, 1, false, 0},
		{"of peak", 8, 1, false, 0},  {tensor, 14, 1, false, 0},
		{"of peak", 8, 1, false, 0},  {"FLOP/B", 9, 1, false, 2},
		{"kernel", 24, 2, true, 0},   {"launched by", 0, 2, true, 1},
	};
	const struct report_metrics *metrics = tree->metrics;
	struct text_table table;
	char text[NUMBER_SIZE];

	fputs(metrics->nr_rows && metrics->rows[0].is_range ? "\nMeasured ranges\n"
							    : "\nMeasured kernels\n",
	      out);
	const char *types = metric_figures_type(metrics, type);
	snprintf(tensor, sizeof(tensor), *types ? "tensor %s" : "tensor", types);
	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < metrics->nr_rows && i < top; i++)
		write_row(&table, tree, &metrics->rows[i]);
	int error = text_table_end(&table);
	if (metrics->nr_rows > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(metrics->nr_rows - top, text));
	return error;
}

static bool has_several_passes(const struct report_metrics *metrics)
{
	for (uint32_t i = 0; i < metrics->nr_rows; i++)
		if (metrics->rows[i].nr_passes > 1)
			return true;
	return false;
}

static double mean_of(const struct report_metric *metric)
{
	return metric->count ? metric->sum / (double)metric->count : 0;
}

static int write_all(FILE *out, const struct report_tree *tree, const struct text_form *form,
		     const struct report_metric_row *row)
{
	const struct entry entry = {tree, row, NULL};
	struct text_table table;

	fprintf(out, "\n%s%s, launched by %s\n", row->is_range ? RANGE : "", kernel_of(&entry),
		caller_of(tree, row));
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"mean", 16, 0, false, 0});
	text_table_column(&table, &(struct text_column){"min", 16, 1, false, 0});
	text_table_column(&table, &(struct text_column){"max", 16, 1, false, 0});
	text_table_column(&table, &(struct text_column){"metric", 0, 2, true, 0});
	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &tree->metrics->metrics[row->first + i];

		text_table_cell(&table, "%.8g", mean_of(metric));
		text_table_cell(&table, "%.8g", metric->min);
		text_table_cell(&table, "%.8g", metric->max);
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

int metrics_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top)
{
	int error;

	if (!tree->metrics)
		return 0;
	error = write_rows(out, tree, form, top);
	if (has_several_passes(tree->metrics))
		fputs("* the parts of a measurement are of different launches\n", out);
	return error;
}

int metrics_writer_report(FILE *out, const struct report_tree *tree, const struct text_form *form,
			  uint32_t top)
{
	const struct report_metrics *metrics = tree->metrics;
	int error;

	if (top == 0)
		top = TOP;
	report_summary_title(out, tree);
	if (!metrics)
		fputs("\nno launch was measured: run --metrics sol, or roofline, measures some\n",
		      out);
	error = metrics_writer_table(out, tree, form, top);
	for (uint32_t i = 0; metrics && i < metrics->nr_rows && i < top && !error; i++)
		error = write_all(out, tree, form, &metrics->rows[i]);
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
	const struct report_metric_row none = {0}, *row = entry->row ? entry->row : &none;

	row_text_string(out, "kernel", kernel_of(entry));
	row_text_flag(out, "range", row->is_range);
	row_text_stack(out, "stack", entry->tree ? entry->tree->nodes : NULL,
		       entry->tree ? entry->tree->strings : NULL, row->node);
	row_text_count(out, "launches", row->launches);
	row_text_count(out, "ns", row->ns);
	row_text_count(out, "measured", row->measured);
	row_text_count(out, "passes", row->nr_passes);
	row_text_count(out, "measured_ns", row->measured_ns);
}

static void write_metric(struct row_text *out, const void *of)
{
	const struct entry *entry = of;
	const struct report_metric none = {0}, *metric = entry->metric ? entry->metric : &none;

	write_subject(out, entry);
	row_text_string(out, "metric", entry->tree ? metric->name : "");
	row_text_count(out, "count", metric->count);
	write_number(out, "mean", mean_of(metric));
	write_number(out, "min", metric->min);
	write_number(out, "max", metric->max);
	row_text_flag(out, "too_low", entry->metric && metric_figures_are_low(metric));
}

static void write_values(FILE *out, const struct report_tree *tree,
			 const struct report_metric_row *row)
{
	fputc('[', out);
	for (uint32_t i = 0; i < row->nr; i++) {
		const struct report_metric *metric = &tree->metrics->metrics[row->first + i];

		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		json_text_write(out, metric->name);
		fprintf(out,
			",\"count\":%" PRIu64
			",\"mean\":%.17g,\"min\":%.17g,\"max\":%.17g,\"too_low\":%s}",
			metric->count, mean_of(metric), metric->min, metric->max,
			metric_figures_are_low(metric) ? "true" : "false");
	}
	fputc(']', out);
}

static void write_object(struct row_text *out, const void *of)
{
	const struct entry entry = {out->context, of, NULL};
	const struct metric_figures figures = figures_of(entry.tree, entry.row);

	write_subject(out, &entry);
	write_number(out, "bytes_per_ns", figures.bytes_per_ns);
	write_number(out, "bytes_peak_per_ns", figures.bytes_peak_per_ns);
	write_number(out, "flops_per_ns", figures.flops_per_ns);
	write_number(out, "flops_peak_per_ns", figures.flops_peak_per_ns);
	write_number(out, "flops_per_byte", figures.flops_per_byte);
	if (row_text_field(out, "metrics"))
		write_values(out->out, entry.tree, entry.row);
}

void metrics_writer_json(FILE *out, const struct report_tree *tree)
{
	if (!tree->metrics)
		return;
	row_text_json(out, "kernel_metrics", write_object, tree, tree->metrics->rows,
		      tree->metrics->nr_rows, sizeof(*tree->metrics->rows));
	fputs(",\n", out);
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
	row_text_csv(out, write_metric, &nothing, entries, nr, sizeof(*entries));
	free(entries);
	return text_file_flush(out);
}
