#include "busy_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "gpm_writer.h"
#include "telemetry_writer.h"

#include "proto/counter_refusal.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"
#include "report/names/text_line.h"
#include "report/telemetry/gpm_use.h"
#include "report/telemetry/gpu_counters.h"
#include "report/telemetry/gpu_telemetry.h"

#define NUMBER_SIZE 32u
#define PLACE_SIZE  2048u

/* gpus: NULL: rows are of streams. */
static void begin(struct text_table *table, FILE *out, const struct text_form *form,
		  const struct gpu_rows *gpus, const char *what)
{
	text_table_begin(table, out, form);
	text_table_column(table, &(struct text_column){"busy", 14, 0, false, 0});
	text_table_column(table, &(struct text_column){"share", 7, 1, false, 0});
	if (gpus && gpus->has_nccl)
		text_table_column(table, &(struct text_column){"NCCL", 7, 1, false, 0});
	text_table_column(table, &(struct text_column){"idle", 14, 1, false, 1});
	text_table_column(table, &(struct text_column){"overlap", 14, 1, false, 3});
	text_table_column(table, &(struct text_column){"records", 14, 1, false, 2});
	if (gpus && gpus->has_telemetry)
		telemetry_writer_columns(table);
	if (gpus && gpus->has_use)
		gpm_writer_columns(table, gpus->has_nvlink);
	text_table_column(table, &(struct text_column){what, 0, 2, true, 0});
}

/* gpus, gpu: NULL: the row is of a stream. */
static void write_times(struct text_table *table, const struct report_busy_row *row,
			const struct gpu_rows *gpus, const struct gpu_row *gpu)
{
	const uint64_t window_ns = row->busy_ns + row->idle_ns;
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_time(row->busy_ns, text));
	text_table_cell(table, "%.2f%%",
			window_ns ? 100.0 * (double)row->busy_ns / (double)window_ns : 0.0);
	if (gpus && gpus->has_nccl)
		text_table_cell(table, "%.2f%%", 100 * gpu_rows_nccl(gpu));
	text_table_cell(table, "%s", report_summary_time(row->idle_ns, text));
	text_table_cell(table, "%s", report_summary_time(row->overlap_ns, text));
	text_table_cell(table, "%s", report_summary_count(row->records, text));
	if (gpus && gpus->has_telemetry)
		telemetry_writer_cells(table, &row->telemetry);
	if (gpus && gpus->has_use)
		gpm_writer_cells(table, &row->telemetry, gpus->has_nvlink);
}

static void describe_stream(char place[static PLACE_SIZE], const struct report_busy_row *row)
{
	text_line_append(place, PLACE_SIZE, " pid %" PRIu32 " %scontext %" PRIu32, row->pid,
			 row->green ? "green " : "", row->context_id);
	if (row->multiprocessors)
		text_line_append(place, PLACE_SIZE, " (%" PRIu32 " SMs)", row->multiprocessors);
	text_line_append(place, PLACE_SIZE, " stream %" PRIu32, row->stream_id);
	if (*row->stream_name)
		text_line_append(place, PLACE_SIZE, " \"%s\"", row->stream_name);
	if (row->stream_default)
		text_line_append(place, PLACE_SIZE, " (default)");
	if (row->stream_priority != REPORT_PRIORITY_NONE && row->stream_priority != 0)
		text_line_append(place, PLACE_SIZE, " (priority %" PRId32 ")",
				 row->stream_priority);
}

/* A machine without NVML has no line of it in each report: doctor says so. */
static bool is_refused(const struct device_telemetry *telemetry)
{
	return telemetry->refusal != TELEMETRY_ANSWERS &&
	       telemetry->refusal != TELEMETRY_NO_LIBRARY;
}

/* A GPU without GPM has no line of it either. */
static bool is_gpm_refused(const struct device_telemetry *telemetry)
{
	return telemetry->gpm_refusal != TELEMETRY_ANSWERS &&
	       telemetry->gpm_refusal != TELEMETRY_NOT_SUPPORTED &&
	       telemetry->gpm_refusal != telemetry->refusal;
}

/* Adds what is special about the GPU's telemetry. */
static void describe_telemetry(char place[static PLACE_SIZE],
			       const struct device_telemetry *telemetry)
{
	if (is_refused(telemetry))
		text_line_append(place, PLACE_SIZE, "; clocks and energy: %s",
				 gpu_telemetry_refusal_words(telemetry->refusal));
	if (is_gpm_refused(telemetry))
		text_line_append(place, PLACE_SIZE, "; its counters: %s",
				 gpu_telemetry_refusal_words(telemetry->gpm_refusal));
	if (gpm_use_known_ns(telemetry) && !gpm_use_is_of_work(telemetry))
		text_line_append(place, PLACE_SIZE, "; its use is of all time");
}

/* Adds what went wrong with samples of the GPU's counters. */
static void describe_counters(char place[static PLACE_SIZE], const struct counter_state *counters)
{
	char count[NUMBER_SIZE], asked[NUMBER_SIZE];
	const uint64_t missing_ns = gpu_counters_missing_ns(counters);

	if (counters->refusal || missing_ns)
		text_line_append(place, PLACE_SIZE, "; samples of its counters: %s%s",
				 counters->refusal ? counter_refusal_words(counters->refusal)
						   : "none",
				 counters->refusal && missing_ns ? ", none" : "");
	if (missing_ns)
		text_line_append(place, PLACE_SIZE, " for %s of %s",
				 report_summary_time(missing_ns, count),
				 report_summary_time(counters->asked_ns, asked));
	if (counters->invalid)
		text_line_append(place, PLACE_SIZE,
				 "; %s samples of its counters had impossible values",
				 report_summary_count(counters->invalid, count));
	if (counters->overflows)
		text_line_append(place, PLACE_SIZE,
				 "; samples of its counters are missing: overflowed %s times",
				 report_summary_count(counters->overflows, count));
	if (counters->unsent)
		text_line_append(place, PLACE_SIZE, "; %s samples of its counters had no room",
				 report_summary_count(counters->unsent, count));
}

static void describe_gpu(char place[static PLACE_SIZE], const struct report_busy_row *row)
{
	text_line_append(place, PLACE_SIZE, "%s", row->host);
	if (row->gpu == REPORT_GPU_NONE)
		text_line_append(place, PLACE_SIZE, " GPU?");
	else
		text_line_append(place, PLACE_SIZE, " GPU%" PRId32, row->gpu);
}

void busy_writer_counters(FILE *out, const struct report_busy *busy, uint32_t top)
{
	uint32_t nr = 0;
	char count[NUMBER_SIZE];

	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		const struct report_busy_row *row = &busy->rows[i];
		char place[PLACE_SIZE] = "", counters[PLACE_SIZE] = "";

		if (!row->whole_device)
			continue;
		describe_counters(counters, &row->counters);
		if (!*counters || ++nr > top)
			continue;
		describe_gpu(place, row);
		fprintf(out, "%s%s%s\n", nr == 1 ? "\n" : "", place, counters);
	}
	if (nr > top)
		fprintf(out, "%s more GPUs lack samples of their counters\n",
			report_summary_count(nr - top, count));
}

/* Adds the last cell: the GPU or the stream, and what is special about it. */
static void write_place(struct text_table *table, const struct report_busy_row *row)
{
	char place[PLACE_SIZE] = "", count[NUMBER_SIZE];

	describe_gpu(place, row);
	if (!row->whole_device)
		describe_stream(place, row);
	else if (*row->device_name)
		text_line_append(place, sizeof(place), " (%s)", row->device_name);
	if (row->late)
		text_line_append(place, sizeof(place),
				 "; %s records came too late to be put in order",
				 report_summary_count(row->late, count));
	if (row->uncaptured_ns)
		text_line_append(place, sizeof(place), "; %s more not captured",
				 report_summary_time(row->uncaptured_ns, count));
	describe_telemetry(place, &row->telemetry);
	describe_counters(place, &row->counters);
	if (row->is_inexact)
		text_line_append(
			place, sizeof(place),
			"; several profiles have it at the same time, and such time counts "
			"in each");
	text_table_cell(table, "%s", place);
}

/* ---- GPUs */

static double distance(const struct gpu_rows *gpus, const struct gpu_row *row)
{
	return fabs(gpu_rows_busy(row) - gpus->busy_share) +
	       fabs(gpu_rows_nccl(row) - gpus->nccl_share);
}

static int by_distance(const void *a, const void *b, void *context)
{
	const struct gpu_row *x = *(const struct gpu_row *const *)a;
	const struct gpu_row *y = *(const struct gpu_row *const *)b;
	const double of_x = distance(context, x), of_y = distance(context, y);

	return of_x > of_y ? -1 : of_x < of_y ? 1 : (x > y) - (x < y);
}

/* One line for all that are alike, with their sums. */
static void write_alike(struct text_table *table, const struct gpu_rows *gpus)
{
	struct report_busy_row sum = {0};
	struct gpu_row row = {.busy = &sum};
	char notes[PLACE_SIZE] = "", time[NUMBER_SIZE];

	for (uint32_t i = 0; i < gpus->nr_rows; i++) {
		const struct report_busy_row *busy = gpus->rows[i].busy;

		if (!gpus->rows[i].is_alike)
			continue;
		sum.busy_ns += busy->busy_ns;
		sum.idle_ns += busy->idle_ns;
		sum.uncaptured_ns += busy->uncaptured_ns;
		sum.overlap_ns += busy->overlap_ns;
		sum.records += busy->records;
		gpu_telemetry_add(&sum.telemetry, &busy->telemetry);
		if (!sum.counters.refusal)
			sum.counters.refusal = busy->counters.refusal;
		sum.counters.overflows += busy->counters.overflows;
		sum.counters.unsent += busy->counters.unsent;
		sum.counters.asked_ns += busy->counters.asked_ns;
		sum.counters.covered_ns += busy->counters.covered_ns;
		sum.counters.invalid += busy->counters.invalid;
		row.nccl_ns += gpus->rows[i].nccl_ns;
	}
	write_times(table, &sum, gpus, &row);
	if (sum.uncaptured_ns)
		text_line_append(notes, sizeof(notes), "; %s more not captured",
				 report_summary_time(sum.uncaptured_ns, time));
	describe_counters(notes, &sum.counters);
	text_table_cell(table, "%" PRIu32 " GPUs alike, added up%s%s", gpus->nr_alike,
			gpm_use_known_ns(&sum.telemetry) && !gpm_use_is_of_work(&sum.telemetry)
				? "; their use is of all time"
				: "",
			notes);
}

int busy_writer_gpus(FILE *out, const struct gpu_rows *gpus, const struct text_form *form,
		     uint32_t top)
{
	const struct gpu_row **apart = calloc(gpus->nr_rows + 1ul, sizeof(*apart));
	const bool folds = gpus->nr_alike > 1;
	uint32_t nr_apart = 0;
	struct text_table table;

	if (!apart)
		return -ENOMEM;
	for (uint32_t i = 0; i < gpus->nr_rows; i++)
		if (!folds || !gpus->rows[i].is_alike)
			apart[nr_apart++] = &gpus->rows[i];
	if (gpus->nr_rows > GPU_ROWS_APART)
		qsort_r(apart, nr_apart, sizeof(*apart), by_distance, (void *)(uintptr_t)gpus);
	begin(&table, out, form, gpus, "device");
	if (folds)
		write_alike(&table, gpus);
	for (uint32_t i = 0; i < nr_apart && (i < top || !folds); i++) {
		write_times(&table, apart[i]->busy, gpus, apart[i]);
		write_place(&table, apart[i]->busy);
	}
	fputc('\n', out);
	int result = text_table_end(&table);
	if (folds && nr_apart > top)
		fprintf(out, "%14s %" PRIu32 " more\n", "", nr_apart - top);
	free(apart);
	return result;
}

/* ---- streams */

int busy_writer_streams(FILE *out, const struct report_busy *busy, const struct text_form *form,
			uint32_t top)
{
	char count[NUMBER_SIZE];
	uint32_t written = 0, left_out = 0;
	struct text_table table;

	begin(&table, out, form, NULL, "stream");
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		if (busy->rows[i].whole_device)
			continue;
		if (written == top) {
			left_out++;
			continue;
		}
		write_times(&table, &busy->rows[i], NULL, NULL);
		write_place(&table, &busy->rows[i]);
		written++;
	}
	fputc('\n', out);
	int result = text_table_end(&table);
	if (left_out)
		fprintf(out, "%14s %s more\n", "", report_summary_count(left_out, count));
	return result;
}
