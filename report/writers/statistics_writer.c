#include "statistics_writer.h"

#include <inttypes.h>

#include "row_text.h"
#include "text_file.h"
#include "text_table.h"

#include "proto/batch/message.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"

#define NUMBER_SIZE 32u
#define SHAPE_SIZE  40u
#define LIMITS_SIZE 64u

static const char *domain_name(uint32_t domain)
{
	return domain == STATISTICS_RUNTIME ? "runtime" : "driver";
}

/* ---- tables */

static void write_more(FILE *out, uint32_t nr_rows, uint32_t top)
{
	char count[NUMBER_SIZE];

	if (nr_rows > top)
		fprintf(out, "%14s %s more\n", "", report_summary_count(nr_rows - top, count));
}

static void write_call(struct text_table *table, const struct report_call *call, uint64_t sum_ns)
{
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_time(call->total_ns, text));
	text_table_cell(table, "%s",
			report_summary_share((double)call->total_ns, (double)sum_ns, text));
	text_table_cell(table, "%s", report_summary_count(call->count, text));
	text_table_cell(table, "%s",
			report_summary_time(call->count ? call->total_ns / call->count : 0, text));
	text_table_cell(table, "%s", report_summary_time(call->min_ns, text));
	text_table_cell(table, "%s", report_summary_time(call->max_ns, text));
	text_table_cell(table, "%s", report_summary_count(call->errors, text));
	text_table_cell(table, "%s", call->name);
}

static int write_domain(FILE *out, const struct report_statistics *statistics, uint32_t domain,
			const char *title, const struct text_form *form, uint32_t top)
{
	static const struct text_column columns[] = {
		{"total", 14, 0, false, 0},  {"share", 7, 1, false, 0},
		{"count", 14, 1, false, 0},  {"mean", 14, 1, false, 1},
		{"min", 14, 1, false, 4},    {"max", 14, 1, false, 3},
		{"errors", 10, 1, false, 2}, {"function", 0, 2, true, 0},
	};
	uint64_t sum_ns = 0;
	uint32_t nr = 0, written = 0;
	struct text_table table;

	for (uint32_t i = 0; i < statistics->nr_calls; i++) {
		if (statistics->calls[i].domain != domain)
			continue;
		sum_ns += statistics->calls[i].total_ns;
		nr++;
	}
	if (nr == 0)
		return 0;
	fprintf(out, "\n%s\n", title);
	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < statistics->nr_calls && written < top; i++) {
		if (statistics->calls[i].domain != domain)
			continue;
		write_call(&table, &statistics->calls[i], sum_ns);
		written++;
	}
	int error = text_table_end(&table);
	write_more(out, nr, top);
	return error;
}

static int write_failures(FILE *out, const struct report_statistics *statistics,
			  const struct text_form *form, uint32_t top)
{
	char count[NUMBER_SIZE], rank[NUMBER_SIZE];
	struct text_table table;

	fputs("\nFailed CUDA calls\n", out);
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"count", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"function", 32, 2, true, 0});
	text_table_column(&table, &(struct text_column){"error", 46, 1, true, 0});
	text_table_column(&table, &(struct text_column){"process", 0, 1, true, 0});
	for (uint32_t i = 0; i < statistics->nr_failures && i < top; i++) {
		const struct report_failure *failure = &statistics->failures[i];

		text_table_cell(&table, "%s", report_summary_count(failure->count, count));
		text_table_cell(&table, "%s", failure->name);
		text_table_cell(&table, "%s (%" PRIu32 ")",
				*failure->error_name ? failure->error_name : "unknown error",
				failure->error);
		snprintf(rank, sizeof(rank), " rank %" PRId32, failure->rank);
		text_table_cell(&table, "%s%s pid %" PRIu32, failure->host,
				failure->rank != REPORT_RANK_NONE ? rank : "", failure->pid);
	}
	int error = text_table_end(&table);
	write_more(out, statistics->nr_failures, top);
	return error;
}

int statistics_writer_calls(FILE *out, const struct report_statistics *statistics,
			    const struct text_form *form, uint32_t top)
{
	int error = write_domain(out, statistics, STATISTICS_RUNTIME, "CUDA Runtime API calls",
				 form, top);

	if (!error)
		error = write_domain(out, statistics, STATISTICS_DRIVER, "CUDA Driver API calls",
				     form, top);
	if (!error && statistics->nr_failures)
		error = write_failures(out, statistics, form, top);
	return error;
}

static const char *shape_text(uint32_t x, uint32_t y, uint32_t z, char text[SHAPE_SIZE])
{
	snprintf(text, SHAPE_SIZE, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, x, y, z);
	return text;
}

static void write_config(struct text_table *table, const struct report_config *config)
{
	const struct kernel_config *shape = &config->shape;
	char text[NUMBER_SIZE], extent[SHAPE_SIZE], limits[LIMITS_SIZE] = "";

	text_table_cell(table, "%s", report_summary_time(config->total_ns, text));
	text_table_cell(table, "%s", report_summary_count(config->count, text));
	text_table_cell(
		table, "%s",
		report_summary_time(config->count ? config->total_ns / config->count : 0, text));
	text_table_cell(table, "%s",
			shape_text(shape->grid_x, shape->grid_y, shape->grid_z, extent));
	text_table_cell(table, "%s",
			shape_text(shape->block_x, shape->block_y, shape->block_z, extent));
	text_table_cell(table, "%s",
			report_summary_count((uint64_t)shape->static_shared_bytes +
						     shape->dynamic_shared_bytes,
					     text));
	text_table_cell(table, "%" PRIu32, shape->registers);
	if (config->has_occupancy)
		text_table_cell(table, "%.1f%%", report_statistics_percent(config));
	else
		text_table_cell(table, "%s", "");
	text_table_cell(table, "%s",
			config->has_occupancy
				? occupancy_limits_text(config->occupancy.limits, limits)
				: "");
	text_table_cell(table, "%s", *config->name ? config->name : "[unknown kernel]");
}

int statistics_writer_configs(FILE *out, const struct report_statistics *statistics,
			      const struct text_form *form, uint32_t top)
{
	static const struct text_column columns[] = {
		{"total", 14, 0, false, 0},     {"count", 14, 1, false, 5},
		{"mean", 14, 1, false, 3},      {"grid", 18, 1, false, 0},
		{"block", 13, 1, false, 1},     {"shared", 10, 1, false, 7},
		{"registers", 9, 1, false, 6},  {"occupancy", 10, 1, false, 2},
		{"limited by", 24, 2, true, 4}, {"kernel", 0, 2, true, 0},
	};
	struct text_table table;

	if (statistics->nr_configs == 0)
		return 0;
	fputs("\nKernels: launch configurations\n", out);
	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < statistics->nr_configs && i < top; i++)
		write_config(&table, &statistics->configs[i]);
	int error = text_table_end(&table);
	write_more(out, statistics->nr_configs, top);
	return error;
}

/* ---- JSON and CSV */

static void write_call_row(struct row_text *out, const void *of)
{
	const struct report_call *call = of;

	row_text_string(out, "api", domain_name(call->domain));
	row_text_string(out, "function", call->name);
	row_text_count(out, "count", call->count);
	row_text_count(out, "total_ns", call->total_ns);
	row_text_count(out, "min_ns", call->min_ns);
	row_text_count(out, "max_ns", call->max_ns);
	row_text_count(out, "errors", call->errors);
}

static void write_failure_row(struct row_text *out, const void *of)
{
	const struct report_failure *failure = of;

	row_text_string(out, "api", domain_name(failure->domain));
	row_text_string(out, "function", failure->name);
	row_text_count(out, "error", failure->error);
	row_text_string(out, "error_name", failure->error_name);
	row_text_string(out, "host", failure->host);
	row_text_number(out, "rank", failure->rank != REPORT_RANK_NONE, failure->rank);
	row_text_count(out, "pid", failure->pid);
	row_text_count(out, "count", failure->count);
}

/* Writes x, y and z as the array "grid", or as the columns grid_x, grid_y and grid_z. */
static void write_extent(struct row_text *out, const char *const names[4], uint32_t x, uint32_t y,
			 uint32_t z)
{
	if (out->form == ROW_JSON) {
		row_text_print(out, names[0], "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", x, y, z);
		return;
	}
	row_text_count(out, names[1], x);
	row_text_count(out, names[2], y);
	row_text_count(out, names[3], z);
}

/* In JSON these are members of an object. */
static void write_occupancy(struct row_text *out, const struct report_config *config)
{
	const struct occupancy *occupancy = &config->occupancy;
	bool json = out->form == ROW_JSON, known = config->has_occupancy;
	char limits[LIMITS_SIZE];

	row_text_number(out, json ? "blocks" : "occupancy_blocks", known, occupancy->blocks);
	row_text_number(out, json ? "warps" : "occupancy_warps", known, occupancy->warps);
	row_text_number(out, "warps_max", known, occupancy->warps_max);
	row_text_string(out, "limited_by", occupancy_limits_text(occupancy->limits, limits));
}

static void write_config_row(struct row_text *out, const void *of)
{
	static const char *const grid[] = {"grid", "grid_x", "grid_y", "grid_z"};
	static const char *const block[] = {"block", "block_x", "block_y", "block_z"};
	const struct report_config *config = of;
	const struct kernel_config *shape = &config->shape;

	row_text_string(out, "kernel", config->name);
	row_text_string(out, "device", config->device);
	write_extent(out, grid, shape->grid_x, shape->grid_y, shape->grid_z);
	write_extent(out, block, shape->block_x, shape->block_y, shape->block_z);
	row_text_count(out, "static_shared_bytes", shape->static_shared_bytes);
	row_text_count(out, "dynamic_shared_bytes", shape->dynamic_shared_bytes);
	row_text_count(out, "registers", shape->registers);
	row_text_count(out, "local_bytes", shape->local_bytes);
	row_text_count(out, "count", config->count);
	row_text_count(out, "total_ns", config->total_ns);
	row_text_count(out, "min_ns", config->min_ns);
	row_text_count(out, "max_ns", config->max_ns);
	if (out->form != ROW_JSON) {
		write_occupancy(out, config);
	} else if (config->has_occupancy) {
		row_text_print(out, "occupancy", "{");
		write_occupancy(&(struct row_text){.out = out->out}, config);
		fputc('}', out->out);
	} else {
		row_text_print(out, "occupancy", "null");
	}
}

void statistics_writer_json(FILE *out, const struct report_statistics *statistics)
{
	row_text_json(out, "api_calls", write_call_row, NULL, statistics->calls,
		      statistics->nr_calls, sizeof(*statistics->calls));
	fputs(",\n", out);
	row_text_json(out, "failed_calls", write_failure_row, NULL, statistics->failures,
		      statistics->nr_failures, sizeof(*statistics->failures));
	fputs(",\n", out);
	row_text_json(out, "kernel_configurations", write_config_row, NULL, statistics->configs,
		      statistics->nr_configs, sizeof(*statistics->configs));
	fputs(",\n", out);
}

int statistics_writer_csv(FILE *out, const struct report_statistics *statistics,
			  enum statistics_rows rows)
{
	if (rows == STATISTICS_ROWS_CALLS)
		row_text_csv(out, write_call_row, &(struct report_call){0}, statistics->calls,
			     statistics->nr_calls, sizeof(*statistics->calls));
	else if (rows == STATISTICS_ROWS_FAILURES)
		row_text_csv(out, write_failure_row, &(struct report_failure){0},
			     statistics->failures, statistics->nr_failures,
			     sizeof(*statistics->failures));
	else
		row_text_csv(out, write_config_row, &(struct report_config){0}, statistics->configs,
			     statistics->nr_configs, sizeof(*statistics->configs));
	return text_file_flush(out);
}
