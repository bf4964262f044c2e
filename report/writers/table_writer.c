#include "table_writer.h"

#include <inttypes.h>
#include <string.h>

#include "statistics_writer.h"
#include "text_file.h"

#include "report/model/report_groups.h"
#include "report/model/report_ranges.h"
#include "report/model/report_summary.h"

#define TOP_DEFAULT 20u
#define NUMBER_SIZE 32u
#define SPLIT_SIZE  512u /* of a group's values, with NUL; a longer text is cut */

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static uint64_t plane_ns(const struct report_tree *tree, uint32_t kind)
{
	return tree->plane_totals[report_plane_of(kind)].ns;
}

/* Writes "rank3;GPU0", as folded stacks begin; "": nothing is split. */
static const char *split_text(const struct report_tree *tree, const struct report_by *by,
			      const struct report_group *group, char text[static SPLIT_SIZE])
{
	char frame[SPLIT_SIZE];
	size_t size = 0;

	*text = '\0';
	for (uint32_t i = 0; i < by->nr_dimensions && size < SPLIT_SIZE; i++)
		size += (size_t)snprintf(text + size, SPLIT_SIZE - size, "%s%s", i ? ";" : "",
					 report_dimension_frame(tree, by->dimensions[i],
								group->values[i], frame,
								sizeof(frame)));
	return text;
}

/* Returns the width of the column of values; 0: nothing is split. */
static int split_width(const struct report_tree *tree, const struct report_by *by,
		       const struct report_groups *groups, uint32_t top)
{
	char text[SPLIT_SIZE];
	size_t widest = 0;

	for (uint32_t i = 0; by->nr_dimensions && i < groups->nr_groups && i < top; i++) {
		size_t size = strlen(split_text(tree, by, &groups->groups[i], text));

		widest = size > widest ? size : widest;
	}
	return by->nr_dimensions ? (int)widest + 2 : 0;
}

static void write_activities(FILE *out, const struct report_tree *tree,
			     const struct report_groups *groups, const struct report_by *by,
			     uint32_t top)
{
	char time[NUMBER_SIZE], average[NUMBER_SIZE], count[NUMBER_SIZE], split[SPLIT_SIZE];
	int width = tree->planes == 1u << REPORT_PLANE_GPU ? 6 : 8; /* width of the longest kind */
	int beside = split_width(tree, by, groups, top);

	fprintf(out, "%14s %7s %14s %14s  %-*s  %-*s%s\n", "time", "share", "count", "average",
		width, "kind", beside, "", "name");
	for (uint32_t i = 0; i < groups->nr_groups && i < top; i++) {
		const struct report_group *group = &groups->groups[i];

		fprintf(out, "%14s %6.2f%% %14s %14s  %-*s  %-*s%s\n",
			report_summary_time(group->ns, time),
			share_of(group->ns, plane_ns(tree, group->kind)),
			report_summary_count(group->count, count),
			report_summary_time(group->count ? group->ns / group->count : 0, average),
			width, report_groups_kind(group->kind), beside,
			split_text(tree, by, group, split), group->label);
	}
	if (groups->nr_groups > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(groups->nr_groups - top, count));
}

/* Writes what the dimensions divide. Shares are of one plane only, because planes must not be added. */
static void write_split(FILE *out, const struct report_tree *tree,
			const struct report_groups *groups, const struct report_by *by,
			uint32_t top)
{
	uint64_t total_ns = tree->plane_totals[__builtin_ctz(tree->planes)].ns;
	char time[NUMBER_SIZE], count[NUMBER_SIZE], split[SPLIT_SIZE];

	if (!by->nr_dimensions || report_planes_count(tree->planes) != 1)
		return;
	fprintf(out, "\n%14s %7s %14s  ", "time", "share", "count");
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		fprintf(out, "%s%s", i ? ", " : "", report_dimension_word(by->dimensions[i]));
	fputc('\n', out);
	for (uint32_t i = 0; i < groups->nr_groups && i < top; i++)
		fprintf(out, "%14s %6.2f%% %14s  %s\n",
			report_summary_time(groups->groups[i].ns, time),
			share_of(groups->groups[i].ns, total_ns),
			report_summary_count(groups->groups[i].count, count),
			split_text(tree, by, &groups->groups[i], split));
	if (groups->nr_groups > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(groups->nr_groups - top, count));
}

static void write_ranges(FILE *out, const struct report_tree *tree,
			 const struct report_ranges *ranges, uint32_t top)
{
	uint64_t total_ns = tree->kernel_ns + tree->copy_ns + tree->graph_ns;
	char time[NUMBER_SIZE], count[NUMBER_SIZE];

	if (ranges->nr_ranges == 0)
		return;
	fprintf(out, "\n%14s %7s %14s  %s\n", "time", "share", "count", "NVTX range");
	for (uint32_t i = 0; i < ranges->nr_ranges && i < top; i++)
		fprintf(out, "%14s %6.2f%% %14s  %s\n",
			report_summary_time(ranges->ranges[i].ns, time),
			share_of(ranges->ranges[i].ns, total_ns),
			report_summary_count(ranges->ranges[i].count, count),
			ranges->ranges[i].label);
	if (ranges->nr_ranges > top)
		fprintf(out, "%14s %s more\n", "",
			report_summary_count(ranges->nr_ranges - top, count));
}

static void write_gpu(FILE *out, int32_t gpu)
{
	if (gpu == REPORT_GPU_NONE)
		fputs("GPU?", out);
	else
		fprintf(out, "GPU%" PRId32, gpu);
}

static void write_stream(FILE *out, const struct report_busy_row *row)
{
	fprintf(out, " pid %" PRIu32 " %scontext %" PRIu32, row->pid, row->green ? "green " : "",
		row->context_id);
	if (row->multiprocessors)
		fprintf(out, " (%" PRIu32 " SMs)", row->multiprocessors);
	fprintf(out, " stream %" PRIu32, row->stream_id);
	if (*row->stream_name)
		fprintf(out, " \"%s\"", row->stream_name);
	if (row->stream_default)
		fputs(" (default)", out);
	if (row->stream_priority != REPORT_PRIORITY_NONE && row->stream_priority != 0)
		fprintf(out, " (priority %" PRId32 ")", row->stream_priority);
}

static void write_busy_row(FILE *out, const struct report_busy_row *row)
{
	char busy[NUMBER_SIZE], idle[NUMBER_SIZE], overlap[NUMBER_SIZE], count[NUMBER_SIZE];

	fprintf(out, "%14s %6.2f%% %14s %14s %14s  %s ", report_summary_time(row->busy_ns, busy),
		share_of(row->busy_ns, row->busy_ns + row->idle_ns),
		report_summary_time(row->idle_ns, idle),
		report_summary_time(row->overlap_ns, overlap),
		report_summary_count(row->records, count), row->host);
	write_gpu(out, row->gpu);
	if (!row->whole_device)
		write_stream(out, row);
	else if (*row->device_name)
		fprintf(out, " (%s)", row->device_name);
	if (row->late)
		fprintf(out, "; %s records came too late to be put in order",
			report_summary_count(row->late, count));
	if (row->is_inexact)
		fputs("; several profiles have it at the same time, and such time counts in each",
		      out);
	fputc('\n', out);
}

static void write_busy(FILE *out, const struct report_busy *busy, int whole_device, uint32_t top)
{
	char count[NUMBER_SIZE];
	uint32_t written = 0, left_out = 0;

	fprintf(out, "\n%14s %7s %14s %14s %14s  %s\n", "busy", "share", "idle", "overlap",
		"records", whole_device ? "device" : "stream");
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		if (!busy->rows[i].whole_device != !whole_device)
			continue;
		if (!whole_device && written == top) {
			left_out++;
			continue;
		}
		write_busy_row(out, &busy->rows[i]);
		written++;
	}
	if (left_out)
		fprintf(out, "%14s %s more\n", "", report_summary_count(left_out, count));
}

static void write_memory(FILE *out, const struct report_tree *tree)
{
	char peak[NUMBER_SIZE], time[NUMBER_SIZE], live[NUMBER_SIZE], count[NUMBER_SIZE];
	char bytes[NUMBER_SIZE], space[NUMBER_SIZE];

	if (!tree->nr_memory)
		return;
	fprintf(out, "\n%14s %14s %14s %14s %14s  %s\n", "peak", "after", "live at end", "allocs",
		"allocated", "memory");
	for (uint32_t i = 0; i < tree->nr_memory; i++) {
		const struct report_memory_row *row = &tree->memory[i];

		fprintf(out, "%14s %14s %14s %14s %14s  %s %s pid %" PRIu32 "\n",
			report_summary_bytes(row->peak_bytes, peak),
			report_summary_time(row->peak_after_ns, time),
			report_summary_bytes(row->live_bytes, live),
			report_summary_count(row->allocs, count),
			report_summary_bytes(row->alloc_bytes, bytes), tree->strings[row->host],
			report_summary_space(row, space), row->pid);
	}
}

int table_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct table_options *options)
{
	static const struct table_options usual;
	const struct report_by *by = options ? &options->by : &usual.by;
	uint32_t top = options && options->top ? options->top : TOP_DEFAULT;
	char line[REPORT_SUMMARY_SIZE];
	struct report_groups activities, hosts = {0}, parts = {0};
	const struct report_by host = {1, {REPORT_BY_HOST}};
	struct report_ranges ranges = {0};
	int error = report_groups_init(&activities, tree, REPORT_GROUP_ACTIVITY, by);

	if (error)
		return error;
	error = report_groups_init(&parts, tree, REPORT_GROUP_ALL, by);
	if (!error)
		error = report_groups_init(&hosts, tree, REPORT_GROUP_ALL, &host);
	if (!error)
		error = report_ranges_init(&ranges, tree);
	if (!error) {
		report_summary_title(out, tree);
		write_activities(out, tree, &activities, by, top);
		write_split(out, tree, &parts, by, top);
		write_ranges(out, tree, &ranges, top);
		write_split(out, tree, &hosts, &host, UINT32_MAX);
		if (tree->planes & 1u << REPORT_PLANE_GPU) {
			write_busy(out, busy, 1, top);
			write_busy(out, busy, 0, top);
		}
		if (options && options->statistics) {
			statistics_writer_configs(out, options->statistics, top);
			statistics_writer_calls(out, options->statistics, top);
		}
		write_memory(out, tree);
		fputc('\n', out);
		report_summary_write(out, tree, "");
		report_summary_planes(out, tree, "");
		report_summary_memory(out, tree, "");
		if (report_summary_mixed(tree, line, sizeof(line)))
			fprintf(out, "%s\n", line);
		report_summary_notices(out, tree, "");
		error = text_file_flush(out);
	}
	report_groups_fini(&activities);
	report_groups_fini(&parts);
	report_groups_fini(&hosts);
	report_ranges_fini(&ranges);
	return error;
}
