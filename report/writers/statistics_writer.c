#include "statistics_writer.h"

#include <inttypes.h>

#include "csv_writer.h"
#include "json_text.h"
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

/* ---- JSON */

static void write_sums(FILE *out, uint64_t count, uint64_t total_ns, uint64_t min_ns,
		       uint64_t max_ns)
{
	fprintf(out,
		"\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64
		",\"max_ns\":%" PRIu64,
		count, total_ns, min_ns, max_ns);
}

static void write_json_failure(FILE *out, const struct report_failure *failure)
{
	json_text_member(out, "api", domain_name(failure->domain));
	json_text_member(out, "function", failure->name);
	fprintf(out, "\"error\":%" PRIu32 ",", failure->error);
	json_text_member(out, "error_name", failure->error_name);
	json_text_member(out, "host", failure->host);
	json_text_number(out, "rank", failure->rank != REPORT_RANK_NONE, failure->rank);
	fprintf(out, "\"pid\":%" PRIu32 ",\"count\":%" PRIu64, failure->pid, failure->count);
}

static void write_json_config(FILE *out, const struct report_config *config)
{
	const struct kernel_config *shape = &config->shape;
	char limits[LIMITS_SIZE];

	json_text_member(out, "kernel", config->name);
	json_text_member(out, "device", config->device);
	fprintf(out,
		"\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%" PRIu32 ",%" PRIu32
		",%" PRIu32 "],\"static_shared_bytes\":%" PRIu32
		",\"dynamic_shared_bytes\":%" PRIu32 ",\"registers\":%" PRIu32
		",\"local_bytes\":%" PRIu32 ",",
		shape->grid_x, shape->grid_y, shape->grid_z, shape->block_x, shape->block_y,
		shape->block_z, shape->static_shared_bytes, shape->dynamic_shared_bytes,
		shape->registers, shape->local_bytes);
	write_sums(out, config->count, config->total_ns, config->min_ns, config->max_ns);
	if (!config->has_occupancy) {
		fputs(",\"occupancy\":null", out);
		return;
	}
	fprintf(out,
		",\"occupancy\":{\"blocks\":%" PRIu32 ",\"warps\":%" PRIu32
		",\"warps_max\":%" PRIu32 ",\"limited_by\":",
		config->occupancy.blocks, config->occupancy.warps, config->occupancy.warps_max);
	json_text_write(out, occupancy_limits_text(config->occupancy.limits, limits));
	fputc('}', out);
}

void statistics_writer_json(FILE *out, const struct report_statistics *statistics)
{
	fputs("\"api_calls\":[", out);
	for (uint32_t i = 0; i < statistics->nr_calls; i++) {
		const struct report_call *call = &statistics->calls[i];

		fputs(i ? ",\n{" : "\n{", out);
		json_text_member(out, "api", domain_name(call->domain));
		json_text_member(out, "function", call->name);
		write_sums(out, call->count, call->total_ns, call->min_ns, call->max_ns);
		fprintf(out, ",\"errors\":%" PRIu64 "}", call->errors);
	}
	fputs("],\n\"failed_calls\":[", out);
	for (uint32_t i = 0; i < statistics->nr_failures; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		write_json_failure(out, &statistics->failures[i]);
		fputc('}', out);
	}
	fputs("],\n\"kernel_configurations\":[", out);
	for (uint32_t i = 0; i < statistics->nr_configs; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		write_json_config(out, &statistics->configs[i]);
		fputc('}', out);
	}
	fputs("],\n", out);
}

/* ---- CSV */

static void csv_calls(FILE *out, const struct report_statistics *statistics)
{
	fputs("api,function,count,total_ns,min_ns,max_ns,errors\n", out);
	for (uint32_t i = 0; i < statistics->nr_calls; i++) {
		const struct report_call *call = &statistics->calls[i];

		fprintf(out, "%s,", domain_name(call->domain));
		csv_writer_text(out, call->name);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			call->count, call->total_ns, call->min_ns, call->max_ns, call->errors);
	}
}

static void csv_failures(FILE *out, const struct report_statistics *statistics)
{
	fputs("api,function,error,error_name,host,rank,pid,count\n", out);
	for (uint32_t i = 0; i < statistics->nr_failures; i++) {
		const struct report_failure *failure = &statistics->failures[i];

		fprintf(out, "%s,", domain_name(failure->domain));
		csv_writer_text(out, failure->name);
		fprintf(out, ",%" PRIu32 ",%s,", failure->error, failure->error_name);
		csv_writer_text(out, failure->host);
		fputc(',', out);
		csv_writer_number(out, failure->rank != REPORT_RANK_NONE, failure->rank);
		fprintf(out, "%" PRIu32 ",%" PRIu64 "\n", failure->pid, failure->count);
	}
}

static void csv_configs(FILE *out, const struct report_statistics *statistics)
{
	char limits[LIMITS_SIZE];

	fputs("kernel,device,grid_x,grid_y,grid_z,block_x,block_y,block_z,static_shared_bytes,"
	      "dynamic_shared_bytes,registers,local_bytes,count,total_ns,min_ns,max_ns,"
	      "occupancy_blocks,occupancy_warps,warps_max,limited_by\n",
	      out);
	for (uint32_t i = 0; i < statistics->nr_configs; i++) {
		const struct report_config *config = &statistics->configs[i];
		const struct kernel_config *shape = &config->shape;

		csv_writer_text(out, config->name);
		fputc(',', out);
		csv_writer_text(out, config->device);
		fprintf(out,
			",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
			",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 ",",
			shape->grid_x, shape->grid_y, shape->grid_z, shape->block_x, shape->block_y,
			shape->block_z, shape->static_shared_bytes, shape->dynamic_shared_bytes,
			shape->registers, shape->local_bytes, config->count, config->total_ns,
			config->min_ns, config->max_ns);
		if (config->has_occupancy)
			fprintf(out, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",",
				config->occupancy.blocks, config->occupancy.warps,
				config->occupancy.warps_max);
		else
			fputs(",,,", out);
		csv_writer_text(out, occupancy_limits_text(config->occupancy.limits, limits));
		fputc('\n', out);
	}
}

int statistics_writer_csv(FILE *out, const struct report_statistics *statistics,
			  enum statistics_rows rows)
{
	if (rows == STATISTICS_ROWS_CALLS)
		csv_calls(out, statistics);
	else if (rows == STATISTICS_ROWS_FAILURES)
		csv_failures(out, statistics);
	else
		csv_configs(out, statistics);
	return text_file_flush(out);
}
