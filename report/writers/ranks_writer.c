#include "ranks_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "placement_writer.h"
#include "row_text.h"
#include "text_file.h"
#include "text_table.h"

#include "report/model/report_summary.h"
#include "report/names/text_line.h"

#define NUMBER_SIZE  32u
#define PLACE_SIZE   768u
#define BYTES_PER_GB 1e9
#define ALIKE_MAX    16u /* rows that do not stand out: more of them are one line of a table */

/* ---- rows that stand out */

static void append_number(char *line, size_t size, const char *what, int32_t number)
{
	if (number < 0)
		text_line_append(line, size, "%s?", what);
	else
		text_line_append(line, size, "%s%" PRId32, what, number);
}

static void append_row(char *line, size_t size, const struct report_ranks *ranks,
		       const struct report_ranks_row *row)
{
	const char *separator = " (";

	append_number(line, size, "rank ", row->rank);
	text_line_append(line, size, " on %s ", row->host);
	append_number(line, size, "GPU", row->gpu);
	for (unsigned int i = 0; i < REPORT_RANKS_COLUMNS; i++) {
		enum report_ranks_column column = (enum report_ranks_column)i;
		uint64_t value = report_ranks_value(row, column);
		uint64_t median = ranks->medians_ns[column];

		if (!(row->outliers & 1u << column))
			continue;
		text_line_append(line, size, "%s%s ", separator, report_ranks_name(column));
		if (column == REPORT_RANKS_IDLE && row->window_ns && ranks->median_window_ns)
			text_line_append(line, size, "%.0f %%, others %.0f %%",
					 100 * (double)value / (double)row->window_ns,
					 100 * (double)median / (double)ranks->median_window_ns);
		else if (median)
			text_line_append(line, size, "%+.1f %%",
					 100.0 * ((double)value - (double)median) / (double)median);
		else
			text_line_append(line, size, "where others have none");
		separator = ", ";
	}
	text_line_append(line, size, ")");
}

/* Returns whether a rank waits for others for a tenth of its window. */
static bool waits_for_others(const struct report_ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		if (ranks->rows[i].nccl_waits_ns > ranks->rows[i].window_ns / 10)
			return true;
	return false;
}

const char *ranks_writer_line(const struct report_ranks *ranks, char *line, size_t size)
{
	const char *separator = "stands out: ";

	*line = '\0';
	if (ranks->why_not) {
		text_line_append(line, size, "%s", ranks->why_not);
		return line;
	}
	for (uint32_t i = 0; i < ranks->nr_rows; i++) {
		if (!ranks->rows[i].outliers)
			continue;
		text_line_append(line, size, "%s", separator);
		append_row(line, size, ranks, &ranks->rows[i]);
		separator = "; ";
	}
	if (!*line)
		text_line_append(line, size, "no rank stands out%s",
				 waits_for_others(ranks)
					 ? "; ranks wait for others: --straggler tells for whom"
					 : "");
	return line;
}

/* ---- text */

static const char *mark_of(const struct report_ranks_row *row, enum report_ranks_column column)
{
	return row->outliers & 1u << column ? "*" : " ";
}

static const struct text_column columns[] = {
	{"rank", 5, 0, false, 0},      {"window", 12, 1, false, 7},
	{"busy ", 13, 1, false, 6},    {"share", 7, 1, false, 0},
	{"compute ", 13, 1, false, 1}, {"NCCL ", 13, 1, false, 2},
	{"waits", 12, 1, false, 9},    {"moves", 12, 1, false, 10},
	{"bus GB/s", 8, 1, false, 15}, {"peak GB/s", 9, 1, false, 16},
	{"", 6, 1, true, 17},          {"overlap", 7, 1, false, 11},
	{"memcpy", 12, 1, false, 12},  {"memset", 12, 1, false, 14},
	{"idle ", 8, 1, false, 3},     {"delay ", 13, 1, false, 5},
	{"longest", 12, 1, false, 13}, {"peak memory", 12, 1, false, 8},
	{"GPU", 0, 2, true, 0},
};

static void write_number(struct text_table *table, int32_t number)
{
	if (number < 0)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%" PRId32, number);
}

static void write_time(struct text_table *table, const struct report_ranks_row *row,
		       enum report_ranks_column column)
{
	char time[NUMBER_SIZE];

	text_table_cell(table, "%s%s", report_summary_time(report_ranks_value(row, column), time),
			mark_of(row, column));
}

/* Bytes a nanosecond are GB/s. */
static void write_split(struct text_table *table, const struct report_ranks_row *row)
{
	char time[NUMBER_SIZE];

	if (!row->nccl_moves_ns) {
		for (unsigned int i = 0; i < 3; i++)
			text_table_cell(table, "-");
		return;
	}
	text_table_cell(table, "%s", report_summary_time(row->nccl_waits_ns, time));
	text_table_cell(table, "%s", report_summary_time(row->nccl_moves_ns, time));
	text_table_cell(table, "%.2f", (double)row->nccl_bus_bytes / (double)row->nccl_moves_ns);
}

static void write_peak(struct text_table *table, const struct report_ranks_row *row)
{
	if (row->link)
		text_table_cell(table, "%.2f", (double)row->link_bytes_per_second / BYTES_PER_GB);
	else
		text_table_cell(table, "-");
	text_table_cell(table, "%s", row->link ? row->link : "");
}

static void write_copies(struct text_table *table, const struct report_ranks_row *row)
{
	char time[NUMBER_SIZE];

	if (row->nccl_busy_ns)
		text_table_cell(
			table, "%.2f%%",
			report_summary_percent((double)row->overlap_ns, (double)row->nccl_busy_ns));
	else
		text_table_cell(table, "-");
	text_table_cell(table, "%s", report_summary_time(row->copies.ns, time));
	text_table_cell(table, "%s", report_summary_time(row->fills.ns, time));
}

static void write_delay(struct text_table *table, const struct report_ranks_row *row)
{
	char time[NUMBER_SIZE];

	if (!row->delays) {
		text_table_cell(table, "- ");
		text_table_cell(table, "-");
		return;
	}
	text_table_cell(table, "%s%s", report_summary_time(row->delay_ns, time),
			mark_of(row, REPORT_RANKS_DELAY));
	text_table_cell(table, "%s", report_summary_time(row->delay_max_ns, time));
}

static void write_place(struct text_table *table, const struct report_ranks *ranks,
			const struct report_ranks_row *row)
{
	char place[PLACE_SIZE] = "", count[NUMBER_SIZE];

	text_line_append(place, sizeof(place), "%s ", row->host);
	append_number(place, sizeof(place), "GPU", row->gpu);
	text_line_append(place, sizeof(place), " pid %" PRIu32, row->pid);
	if (ranks->has_jobs)
		text_line_append(place, sizeof(place), " job %s", *row->job ? row->job : "?");
	if (row->late)
		text_line_append(place, sizeof(place),
				 "; %s records came too late to be put in order",
				 report_summary_count(row->late, count));
	text_table_cell(table, "%s", place);
}

static void write_table_row(struct text_table *table, const struct report_ranks *ranks,
			    const struct report_ranks_row *row)
{
	char time[NUMBER_SIZE];

	write_number(table, row->rank);
	text_table_cell(table, "%s", report_summary_time(row->window_ns, time));
	write_time(table, row, REPORT_RANKS_BUSY);
	text_table_cell(table, "%.2f%%",
			report_summary_percent((double)row->busy_ns, (double)row->window_ns));
	write_time(table, row, REPORT_RANKS_COMPUTE);
	write_time(table, row, REPORT_RANKS_NCCL);
	write_split(table, row);
	write_peak(table, row);
	write_copies(table, row);
	text_table_cell(table, "%.2f%%%s",
			report_summary_percent((double)(row->window_ns - row->busy_ns),
					       (double)row->window_ns),
			mark_of(row, REPORT_RANKS_IDLE));
	write_delay(table, row);
	text_table_cell(table, "%s",
			row->has_memory ? report_summary_bytes(row->peak_bytes, time) : "-");
	write_place(table, ranks, row);
}

/* Rows that are as far from the median stay in the order of ranks. */
static int by_distance(const void *a, const void *b)
{
	const struct report_ranks_row *x = *(const struct report_ranks_row *const *)a;
	const struct report_ranks_row *y = *(const struct report_ranks_row *const *)b;

	if (x->distance < y->distance || x->distance > y->distance)
		return x->distance > y->distance ? -1 : 1;
	return (x > y) - (x < y);
}

/* The medians of all rows, below those that stand out. */
static void write_alike(struct text_table *table, const struct report_ranks *ranks, uint32_t count)
{
	const uint64_t *medians_ns = ranks->medians_ns, window_ns = ranks->median_window_ns;
	char time[NUMBER_SIZE];

	text_table_cell(table, "%s", "");
	text_table_cell(table, "%s", report_summary_time(window_ns, time));
	text_table_cell(table, "%s ", report_summary_time(medians_ns[REPORT_RANKS_BUSY], time));
	text_table_cell(
		table, "%.2f%%",
		report_summary_percent((double)medians_ns[REPORT_RANKS_BUSY], (double)window_ns));
	text_table_cell(table, "%s ", report_summary_time(medians_ns[REPORT_RANKS_COMPUTE], time));
	text_table_cell(table, "%s ", report_summary_time(medians_ns[REPORT_RANKS_NCCL], time));
	for (unsigned int i = 0; i < 8; i++) /* waits to memset */
		text_table_cell(table, "%s", "");
	text_table_cell(
		table, "%.2f%% ",
		report_summary_percent((double)medians_ns[REPORT_RANKS_IDLE], (double)window_ns));
	text_table_cell(table, "%s ", report_summary_time(medians_ns[REPORT_RANKS_DELAY], time));
	text_table_cell(table, "%s", "");
	text_table_cell(table, "%s", "");
	text_table_cell(table, "%" PRIu32 " alike, %" PRIu32 " not: the medians of all", count,
			ranks->nr_rows - count);
}

/* Rows that stand out come first. Of many others a reader learns the medians alone. 0 or -ENOMEM. */
static int write_table_rows(FILE *out, const struct report_ranks *ranks,
			    const struct text_form *form)
{
	struct text_table table;
	const struct report_ranks_row **rows = calloc(ranks->nr_rows + 1ul, sizeof(*rows));
	uint32_t alike = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < ranks->nr_rows; i++) {
		rows[i] = &ranks->rows[i];
		alike += !rows[i]->outliers;
	}
	qsort(rows, ranks->nr_rows, sizeof(*rows), by_distance);
	const bool is_one_line = alike > ALIKE_MAX && !ranks->why_not;
	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		if (rows[i]->outliers || !is_one_line)
			write_table_row(&table, ranks, rows[i]);
	if (is_one_line)
		write_alike(&table, ranks, alike);
	int result = text_table_end(&table);
	free(rows);
	return result;
}

static uint64_t count_graphs(const struct report_ranks *ranks)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		count += ranks->rows[i].graphs.count;
	return count;
}

int ranks_writer_table(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree,
		       const struct text_form *form)
{
	char line[RANKS_WRITER_LINE_SIZE], count[NUMBER_SIZE];

	report_summary_title(out, tree);
	if (write_table_rows(out, ranks, form))
		return -ENOMEM;
	fputc('\n', out);
	if (count_graphs(ranks))
		fprintf(out,
			"%s graphs were traced as a whole: their kernels are neither compute nor "
			"NCCL here\n",
			report_summary_count(count_graphs(ranks), count));
	if (report_summary_has_windows(tree))
		fputs("captured in windows: time between them was not captured, and is no idle "
		      "time\n",
		      out);
	if (ranks->placement)
		placement_writer_table(out, ranks->placement);
	fprintf(out, "%s\n", ranks_writer_line(ranks, line, sizeof(line)));
	report_summary_write(out, tree, "");
	report_summary_notices(out, tree, "");
	return text_file_flush(out);
}

/* ---- JSON and CSV */

static void write_work(struct row_text *out, const char *count, const char *ns,
		       const struct report_ranks_work *work)
{
	row_text_count(out, count, work->count);
	row_text_count(out, ns, work->ns);
}

static void write_outliers(struct row_text *out, const struct report_ranks_row *row)
{
	bool json = out->form == ROW_JSON;
	const char *before = "";

	if (!row_text_field(out, "outliers"))
		return;
	fputs(json ? "[" : "", out->out);
	for (unsigned int column = 0; column < REPORT_RANKS_COLUMNS; column++) {
		if (!(row->outliers & 1u << column))
			continue;
		fprintf(out->out, json ? "%s\"%s\"" : "%s%s", before,
			report_ranks_name((enum report_ranks_column)column));
		before = json ? "," : " ";
	}
	fputs(json ? "]" : "", out->out);
}

static void write_overlap(struct row_text *out, const struct report_ranks_row *row)
{
	row_text_count(out, "nccl_busy_ns", row->nccl_busy_ns);
	row_text_count(out, "overlap_ns", row->overlap_ns);
}

static void write_parts(struct row_text *out, const struct report_ranks_row *row)
{
	row_text_count(out, "nccl_waits_ns", row->nccl_waits_ns);
	row_text_count(out, "nccl_moves_ns", row->nccl_moves_ns);
	row_text_count(out, "nccl_bus_bytes", row->nccl_bus_bytes);
}

static void write_link(struct row_text *out, const struct report_ranks_row *row)
{
	if (row->link)
		row_text_string(out, "link", row->link);
	else
		row_text_number(out, "link", false, 0);
	row_text_number(out, "link_bytes_per_second", row->link != NULL,
			(int64_t)row->link_bytes_per_second);
}

static void write_row(struct row_text *out, const void *of)
{
	const struct report_ranks_row *row = of;

	row_text_number(out, "rank", row->rank >= 0, row->rank);
	row_text_string(out, "host", row->host);
	row_text_number(out, "gpu", row->gpu >= 0, row->gpu);
	if (out->form == ROW_JSON)
		row_text_string(out, "name", row->device_name);
	row_text_count(out, "pid", row->pid);
	row_text_count(out, "records", row->records);
	row_text_count(out, "window_ns", row->window_ns);
	row_text_count(out, "busy_ns", row->busy_ns);
	row_text_count(out, "idle_ns", row->window_ns - row->busy_ns);
	if (out->form == ROW_JSON) {
		row_text_count(out, "kernels", row->compute.count + row->nccl.count);
		row_text_count(out, "kernel_ns", row->compute.ns + row->nccl.ns);
	}
	write_work(out, "compute_kernels", "compute_ns", &row->compute);
	write_work(out, "nccl_kernels", "nccl_ns", &row->nccl);
	if (out->form == ROW_JSON) {
		write_overlap(out, row);
		write_parts(out, row);
		write_link(out, row);
	}
	write_work(out, "copies", "memcpy_ns", &row->copies);
	write_work(out, "fills", "memset_ns", &row->fills);
	write_work(out, "graphs", "graph_ns", &row->graphs);
	if (out->form != ROW_JSON) {
		write_overlap(out, row);
		write_parts(out, row);
		write_link(out, row);
	}
	row_text_count(out, "delays", row->delays);
	row_text_count(out, "delay_ns", row->delay_ns);
	row_text_count(out, "delay_max_ns", row->delay_max_ns);
	row_text_number(out, "peak_bytes", row->has_memory, (int64_t)row->peak_bytes);
	row_text_count(out, "late", row->late);
	write_outliers(out, row);
	row_text_string(out, "job", row->job);
}

int ranks_writer_json(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree)
{
	char line[RANKS_WRITER_LINE_SIZE];

	json_text_begin(out, tree->title);
	json_text_member(out, "summary", report_summary_line(tree, line, sizeof(line)));
	fputc('\n', out);
	json_text_member(out, "outliers", ranks_writer_line(ranks, line, sizeof(line)));
	fprintf(out, "\n\"compared\":%s,\n\"median_ns\":{", ranks->why_not ? "false" : "true");
	for (unsigned int column = 0; column < REPORT_RANKS_COLUMNS; column++)
		fprintf(out, "%s\"%s\":%" PRIu64, column ? "," : "",
			report_ranks_name((enum report_ranks_column)column),
			ranks->medians_ns[column]);
	fputs("},\n", out);
	if (ranks->placement)
		placement_writer_json(out, ranks->placement);
	row_text_json(out, "ranks", write_row, NULL, ranks->rows, ranks->nr_rows,
		      sizeof(*ranks->rows));
	fputs("}\n", out);
	return text_file_flush(out);
}

int ranks_writer_csv(FILE *out, const struct report_ranks *ranks)
{
	row_text_csv(out, write_row, &(struct report_ranks_row){0}, ranks->rows, ranks->nr_rows,
		     sizeof(*ranks->rows));
	return text_file_flush(out);
}
