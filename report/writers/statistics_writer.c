#include "statistics_writer.h"

#include <inttypes.h>

#include "row_text.h"
#include "text_file.h"

#include "proto/batch/message.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"

#define NUMBER_SIZE 32u
#define SHAPE_SIZE  40u
#define LIMITS_SIZE 64u
#define ERROR_SIZE  80u

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

static void write_call(FILE *out, const struct report_call *call, uint64_t sum_ns)
{
	char total[NUMBER_SIZE], count[NUMBER_SIZE], mean[NUMBER_SIZE], min[NUMBER_SIZE],
		max[NUMBER_SIZE], errors[NUMBER_SIZE];

	fprintf(out, "%14s %6.2f%% %14s %14s %14s %14s %10s  %s\n",
		report_summary_time(call->total_ns, total),
		sum_ns ? 100.0 * (double)call->total_ns / (double)sum_ns : 0.0,
		report_summary_count(call->count, count),
		report_summary_time(call->count ? call->total_ns / call->count : 0, mean),
		report_summary_time(call->min_ns, min), report_summary_time(call->max_ns, max),
		report_summary_count(call->errors, errors), call->name);
}

static void write_domain(FILE *out, const struct report_statistics *statistics, uint32_t domain,
			 const char *title, uint32_t top)
{
	uint64_t sum_ns = 0;
	uint32_t nr = 0, written = 0;

	for (uint32_t i = 0; i < statistics->nr_calls; i++) {
		if (statistics->calls[i].domain != domain)
			continue;
		sum_ns += statistics->calls[i].total_ns;
		nr++;
	}
	if (nr == 0)
		return;
	fprintf(out, "\n%s\n%14s %7s %14s %14s %14s %14s %10s  %s\n", title, "total", "share",
		"count", "mean", "min", "max", "errors", "function");
	for (uint32_t i = 0; i < statistics->nr_calls && written < top; i++) {
		if (statistics->calls[i].domain != domain)
			continue;
		write_call(out, &statistics->calls[i], sum_ns);
		written++;
	}
	write_more(out, nr, top);
}

static void write_failures(FILE *out, const struct report_statistics *statistics, uint32_t top)
{
	char count[NUMBER_SIZE];

	fprintf(out, "\nFailed CUDA calls\n%14s  %-32s %-46s %s\n", "count", "function", "error",
		"process");
	for (uint32_t i = 0; i < statistics->nr_failures && i < top; i++) {
		const struct report_failure *failure = &statistics->failures[i];
		char error[ERROR_SIZE];

		snprintf(error, sizeof(error), "%s (%" PRIu32 ")",
			 *failure->error_name ? failure->error_name : "unknown error",
			 failure->error);
		fprintf(out, "%14s  %-32s %-46s %s", report_summary_count(failure->count, count),
			failure->name, error, failure->host);
		if (failure->rank != REPORT_RANK_NONE)
			fprintf(out, " rank %" PRId32, failure->rank);
		fprintf(out, " pid %" PRIu32 "\n", failure->pid);
	}
	write_more(out, statistics->nr_failures, top);
}

void statistics_writer_calls(FILE *out, const struct report_statistics *statistics, uint32_t top)
{
	write_domain(out, statistics, STATISTICS_RUNTIME, "CUDA Runtime API calls", top);
	write_domain(out, statistics, STATISTICS_DRIVER, "CUDA Driver API calls", top);
	if (statistics->nr_failures)
		write_failures(out, statistics, top);
}

static const char *shape_text(uint32_t x, uint32_t y, uint32_t z, char text[SHAPE_SIZE])
{
	snprintf(text, SHAPE_SIZE, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, x, y, z);
	return text;
}

static void write_config(FILE *out, const struct report_config *config)
{
	const struct kernel_config *shape = &config->shape;
	char total[NUMBER_SIZE], count[NUMBER_SIZE], mean[NUMBER_SIZE], shared[NUMBER_SIZE];
	char grid[SHAPE_SIZE], block[SHAPE_SIZE], limits[LIMITS_SIZE];

	fprintf(out, "%14s %14s %14s %18s %13s %10s %9" PRIu32 " ",
		report_summary_time(config->total_ns, total),
		report_summary_count(config->count, count),
		report_summary_time(config->count ? config->total_ns / config->count : 0, mean),
		shape_text(shape->grid_x, shape->grid_y, shape->grid_z, grid),
		shape_text(shape->block_x, shape->block_y, shape->block_z, block),
		report_summary_count(
			(uint64_t)shape->static_shared_bytes + shape->dynamic_shared_bytes, shared),
		shape->registers);
	if (config->has_occupancy)
		fprintf(out, "%9.1f%%  %-24s", report_statistics_percent(config),
			occupancy_limits_text(config->occupancy.limits, limits));
	else
		fprintf(out, "%10s  %-24s", "", "");
	fprintf(out, "  %s\n", *config->name ? config->name : "[unknown kernel]");
}

void statistics_writer_configs(FILE *out, const struct report_statistics *statistics, uint32_t top)
{
	if (statistics->nr_configs == 0)
		return;
	fprintf(out,
		"\nKernels: launch configurations\n%14s %14s %14s %18s %13s %10s %9s %10s  %-24s  "
		"%s\n",
		"total", "count", "mean", "grid", "block", "shared", "registers", "occupancy",
		"limited by", "kernel");
	for (uint32_t i = 0; i < statistics->nr_configs && i < top; i++)
		write_config(out, &statistics->configs[i]);
	write_more(out, statistics->nr_configs, top);
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
