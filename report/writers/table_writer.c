#include "table_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "busy_writer.h"
#include "durations_writer.h"
#include "findings_writer.h"
#include "resource_writer.h"
#include "stall_writer.h"
#include "statistics_writer.h"
#include "text_file.h"
#include "text_table.h"

#include "report/digest/host_lines.h"
#include "report/digest/marked_steps.h"
#include "report/digest/report_refusal.h"
#include "report/model/report_groups.h"
#include "report/model/report_ranges.h"
#include "report/model/report_summary.h"
#include "report/names/source_name.h"
#include "report/names/text_line.h"
#include "report/writers/metrics/metrics_writer.h"

#define TOP_DEFAULT 20u
#define NUMBER_SIZE 32u
#define SPLIT_SIZE  512u /* of a group's values, with NUL; a longer text is cut */

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

static void write_more(FILE *out, uint32_t nr, uint32_t top)
{
	char count[NUMBER_SIZE];

	if (nr > top)
		fprintf(out, "%14s %s more\n", "", report_summary_count(nr - top, count));
}

/* Returns the launches of a group's name, which is divided by dimensions. */
static uint64_t nr_launches(const struct report_groups *groups, const struct report_group *group)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < groups->nr_groups; i++)
		if (groups->groups[i].kind == group->kind &&
		    strcmp(groups->groups[i].label, group->label) == 0)
			nr += groups->groups[i].count;
	return nr;
}

/* Writes the end of a percentile's bucket. */
static void write_below(struct text_table *table, const struct report_groups *groups,
			const struct report_group *group, const struct table_options *options,
			uint32_t per_mille)
{
	const uint64_t nr = options->by.nr_dimensions ? nr_launches(groups, group) : group->count;
	const uint64_t below_ns = durations_writer_below(group, nr, options->statistics, per_mille);
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", below_ns ? report_summary_time(below_ns, text) : "");
}

static int write_activities(FILE *out, const struct report_tree *tree,
			    const struct report_groups *groups, const struct table_options *options)
{
	const struct report_by *by = &options->by;
	const uint32_t width =
		tree->planes == 1u << REPORT_PLANE_GPU ? 6 : 8; /* of the longest kind */
	bool has_durations = false;
	char text[NUMBER_SIZE], split[SPLIT_SIZE];
	struct text_table table;

	for (uint32_t i = 0; i < groups->nr_groups && i < options->top; i++)
		has_durations |= groups->groups[i].durations.first != NULL;
	text_table_begin(&table, out, options->form);
	text_table_column(&table, &(struct text_column){"time", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"share", 7, 1, false, 0});
	text_table_column(&table, &(struct text_column){"count", 14, 1, false, 1});
	text_table_column(&table, &(struct text_column){"average", 14, 1, false, 2});
	for (uint32_t i = 0; has_durations && i < 2; i++)
		text_table_column(&table, &(struct text_column){i ? "99% below" : "half below", 14,
								1, false, 5 - i});
	text_table_column(&table, &(struct text_column){"kind", width, 2, true, 3});
	if (by->nr_dimensions)
		text_table_column(&table, &(struct text_column){"", 0, 2, true, 0});
	text_table_column(&table, &(struct text_column){"name", 0, 2, true, 0});
	for (uint32_t i = 0; i < groups->nr_groups && i < options->top; i++) {
		const struct report_group *group = &groups->groups[i];

		text_table_cell(&table, "%s", report_summary_time(group->ns, text));
		text_table_cell(&table, "%s",
				report_summary_share((double)group->ns,
						     (double)plane_ns(tree, group->kind), text));
		text_table_cell(&table, "%s", report_summary_count(group->count, text));
		/* A sample has no time of its own. */
		text_table_cell(
			&table, "%s",
			group->kind == REPORT_KIND_STALL
				? ""
				: report_summary_time(group->count ? group->ns / group->count : 0,
						      text));
		for (uint32_t j = 0; has_durations && j < 2; j++)
			write_below(&table, groups, group, options, j ? 990 : 500);
		text_table_cell(&table, "%s", report_groups_kind(group->kind));
		if (by->nr_dimensions)
			text_table_cell(&table, "%s", split_text(tree, by, group, split));
		/* What has no name is named by its kind, which a narrow table has no column for. */
		text_table_cell(&table, "%s",
				*group->label ? group->label
				: group->kind == REPORT_KIND_IDLE
					? "gap"
					: report_groups_kind(group->kind));
	}
	int error = text_table_end(&table);
	write_more(out, groups->nr_groups, options->top);
	return error;
}

/* Instead of tables without a row: says what records the planes that were asked for, or why they were refused. */
static void write_nothing(FILE *out, const struct report_tree *tree)
{
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		const char *options = report_plane_options((enum report_plane)plane);
		char text[REPORT_REFUSAL_SIZE];
		const char *refusal = report_refusal_plane(tree, (enum report_plane)plane, text);

		if (!(tree->planes & 1u << plane & REPORT_PLANES_ALL))
			continue;
		fprintf(out, "nothing of %s is here", report_plane_name((enum report_plane)plane));
		if (refusal)
			fprintf(out, ": %s", refusal);
		else if (options)
			fprintf(out, ": `flamegrid run %s` records it", options);
		fputc('\n', out);
	}
}

/* Begins a table of parts of one total. */
static void begin_parts(struct text_table *table, FILE *out, const struct text_form *form,
			const char *what)
{
	fputc('\n', out);
	text_table_begin(table, out, form);
	text_table_column(table, &(struct text_column){"time", 14, 0, false, 0});
	text_table_column(table, &(struct text_column){"share", 7, 1, false, 0});
	text_table_column(table, &(struct text_column){"count", 14, 1, false, 1});
	text_table_column(table, &(struct text_column){what, 0, 2, true, 0});
}

static void write_part(struct text_table *table, uint64_t ns, uint64_t total_ns, uint64_t count,
		       const char *name)
{
	char text[NUMBER_SIZE];

	text_table_cell(table, "%s", report_summary_time(ns, text));
	text_table_cell(table, "%s", report_summary_share((double)ns, (double)total_ns, text));
	text_table_cell(table, "%s", report_summary_count(count, text));
	text_table_cell(table, "%s", name);
}

/* Returns the heading: names without debug information are functions. */
static const char *name_of_lines(const struct report_tree *tree, const struct host_lines *lines)
{
	uint32_t with_line = 0;

	for (uint32_t i = 0; i < lines->nr_lines; i++)
		with_line += source_name_has_line(tree->strings[lines->lines[i].name]);
	return with_line == lines->nr_lines ? "line of the program"
	       : with_line == 0             ? "function of the program"
					    : "line or function of the program";
}

/* Returns the only plane that the tree has, but of memory and resources none; else REPORT_PLANES. */
static uint32_t only_plane(const struct report_tree *tree)
{
	const uint32_t timeless = 1u << REPORT_PLANE_MEMORY | REPORT_PLANES_RESOURCES;

	if (report_planes_count(tree->planes) != 1 || tree->planes & timeless)
		return REPORT_PLANES;
	return (uint32_t)__builtin_ctz(tree->planes);
}

/* Writes the program's own lines by what the GPUs did for them, or by another plane's time. */
static int write_lines(FILE *out, const struct report_tree *tree, uint32_t plane,
		       const struct table_options *options)
{
	struct host_lines lines;
	struct text_table table;
	int error = host_lines_init_divided(&lines, tree, plane, NULL, NULL);

	if (error)
		return error;
	if (lines.nr_lines) {
		begin_parts(&table, out, options->form, name_of_lines(tree, &lines));
		for (uint32_t i = 0; i < lines.nr_lines && i < options->top; i++)
			write_part(&table, lines.lines[i].ns, lines.ns, lines.lines[i].count,
				   lines.lines[i].text);
		error = text_table_end(&table);
		write_more(out, lines.nr_lines, options->top);
	}
	host_lines_fini(&lines);
	return error;
}

static int by_ns(const void *a, const void *b)
{
	const struct host_line *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* Writes what the launching threads did while GPUs were idle: the innermost frames, "[CPU]". */
static int write_causes(FILE *out, const struct report_tree *tree,
			const struct table_options *options)
{
	struct host_line *causes = calloc(tree->nr_strings + 1ul, sizeof(*causes));
	uint32_t nr_causes = 0;
	struct text_table table;

	if (!causes)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		struct host_line *cause = &causes[tree->nodes[tree->leaves[i].node].name];

		cause->ns += tree->leaves[i].ns;
		cause->count += tree->leaves[i].count;
	}
	for (uint32_t i = 0; i < tree->nr_strings; i++)
		if (causes[i].count) {
			causes[nr_causes] = causes[i];
			causes[nr_causes++].text = tree->strings[i];
		}
	if (nr_causes == 0) {
		free(causes);
		return 0;
	}
	qsort(causes, nr_causes, sizeof(*causes), by_ns);
	begin_parts(&table, out, options->form, "the host meanwhile");
	for (uint32_t i = 0; i < nr_causes && i < options->top; i++)
		write_part(&table, causes[i].ns, tree->plane_totals[REPORT_PLANE_IDLE].ns,
			   causes[i].count, causes[i].text);
	free(causes);
	int error = text_table_end(&table);
	write_more(out, nr_causes, options->top);
	return error;
}

/* Writes what the dimensions divide. Shares are of one plane only, because planes must not be added. */
static int write_split(FILE *out, const struct report_tree *tree,
		       const struct report_groups *groups, const struct report_by *by,
		       const struct table_options *options, uint32_t top)
{
	const uint64_t total_ns = tree->plane_totals[__builtin_ctz(tree->planes)].ns;
	char split[SPLIT_SIZE], words[SPLIT_SIZE] = "";
	struct text_table table;

	if (!by->nr_dimensions || report_planes_count(tree->planes) != 1)
		return 0;
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		text_line_append(words, sizeof(words), "%s%s", i ? ", " : "",
				 report_dimension_word(by->dimensions[i]));
	begin_parts(&table, out, options->form, words);
	for (uint32_t i = 0; i < groups->nr_groups && i < top; i++)
		write_part(&table, groups->groups[i].ns, total_ns, groups->groups[i].count,
			   split_text(tree, by, &groups->groups[i], split));
	int error = text_table_end(&table);
	write_more(out, groups->nr_groups, top);
	return error;
}

static int write_ranges(FILE *out, const struct report_tree *tree,
			const struct report_ranges *ranges, const struct table_options *options)
{
	const uint64_t total_ns = tree->kernel_ns + tree->copy_ns + tree->graph_ns;
	struct text_table table;

	if (ranges->nr_ranges == 0)
		return 0;
	begin_parts(&table, out, options->form, "NVTX range");
	for (uint32_t i = 0; i < ranges->nr_ranges && i < options->top; i++)
		write_part(&table, ranges->ranges[i].ns, total_ns, ranges->ranges[i].count,
			   ranges->ranges[i].label);
	int error = text_table_end(&table);
	write_more(out, ranges->nr_ranges, options->top);
	return error;
}

/* Writes what a reader wants to know first: of GPU work, and of another plane its lines. */
static int write_digest(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
			const struct table_options *options)
{
	struct gpu_rows own;
	int error;

	if (!(tree->planes & 1u << REPORT_PLANE_GPU)) {
		const uint32_t plane = only_plane(tree);

		error = plane == REPORT_PLANE_STALLS
				? stall_writer_kernels(out, tree, options->form, options->top)
				: 0;
		if (!error && plane < REPORT_PLANES)
			error = write_lines(out, tree, plane, options);
		return error || plane != REPORT_PLANE_IDLE ? error
							   : write_causes(out, tree, options);
	}
	error = write_lines(out, tree, REPORT_PLANE_GPU, options);
	if (error)
		return error;
	if (options->gpus) {
		error = busy_writer_gpus(out, options->gpus, options->form, options->top);
	} else {
		error = gpu_rows_init(&own, busy, NULL);
		if (!error)
			error = busy_writer_gpus(out, &own, options->form, options->top);
		gpu_rows_fini(&own);
	}
	if (options->findings)
		findings_writer_text(out, options->findings, options->form);
	return error;
}

static int write_memory(FILE *out, const struct report_tree *tree, const struct text_form *form)
{
	char text[NUMBER_SIZE];
	struct text_table table;

	if (!tree->nr_memory)
		return 0;
	fputc('\n', out);
	text_table_begin(&table, out, form);
	text_table_column(&table, &(struct text_column){"peak", 14, 0, false, 0});
	text_table_column(&table, &(struct text_column){"after", 14, 1, false, 2});
	text_table_column(&table, &(struct text_column){"live at end", 14, 1, false, 1});
	text_table_column(&table, &(struct text_column){"allocs", 14, 1, false, 3});
	text_table_column(&table, &(struct text_column){"allocated", 14, 1, false, 4});
	text_table_column(&table, &(struct text_column){"memory", 0, 2, true, 0});
	for (uint32_t i = 0; i < tree->nr_memory; i++) {
		const struct report_memory_row *row = &tree->memory[i];

		text_table_cell(&table, "%s", report_summary_bytes(row->peak_bytes, text));
		text_table_cell(&table, "%s", report_summary_time(row->peak_after_ns, text));
		text_table_cell(&table, "%s", report_summary_bytes(row->live_bytes, text));
		text_table_cell(&table, "%s", report_summary_count(row->allocs, text));
		text_table_cell(&table, "%s", report_summary_bytes(row->alloc_bytes, text));
		text_table_cell(&table, "%s %s pid %" PRIu32, tree->strings[row->host],
				report_summary_space(row, text), row->pid);
	}
	return text_table_end(&table);
}

static void write_steps(FILE *out, const struct marked_steps *steps)
{
	char number[NUMBER_SIZE];

	if (steps->count == 0)
		return;
	/* Of runs that were merged, say. */
	if (steps->least != steps->count)
		fprintf(out, "%s to ", report_summary_count(steps->least, number));
	fprintf(out, "%s step%s marked%s", report_summary_count(steps->count, number),
		steps->count == 1 ? "" : "s", steps->least != steps->count ? " by a process" : "");
	if (steps->mean_ns)
		fprintf(out, ", %s each on average", report_summary_time(steps->mean_ns, number));
	fputc('\n', out);
}

/* Writes streams, configurations, calls, metrics and memory. */
static int write_details(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
			 const struct table_options *options)
{
	const bool has_gpu = tree->planes & 1u << REPORT_PLANE_GPU;
	int error = has_gpu ? busy_writer_streams(out, busy, options->form, options->top) : 0;

	if (!error && options->statistics && has_gpu)
		error = statistics_writer_configs(out, options->statistics, options->form,
						  options->top);
	if (!error && options->statistics)
		error = statistics_writer_calls(out, options->statistics, options->form,
						options->top);
	if (!error && has_gpu)
		error = metrics_writer_table(out, tree, options->form, options->top);
	return error ? error : write_memory(out, tree, options->form);
}

int table_writer_write(FILE *out, const struct report_tree *tree, const struct report_busy *busy,
		       const struct table_options *given)
{
	struct table_options options = given ? *given : (struct table_options){0};
	char line[REPORT_SUMMARY_SIZE];
	struct report_groups activities, hosts = {0}, parts = {0};
	const struct report_by host = {1, {REPORT_BY_HOST}};
	struct report_ranges ranges = {0};
	int error;

	options.top = options.top ? options.top : TOP_DEFAULT;
	error = report_groups_init(&activities, tree, REPORT_GROUP_ACTIVITY, &options.by);
	if (error)
		return error;
	error = report_groups_init(&parts, tree, REPORT_GROUP_ALL, &options.by);
	if (!error)
		error = report_groups_init(&hosts, tree, REPORT_GROUP_ALL, &host);
	if (!error)
		error = report_ranges_init(&ranges, tree);
	if (!error) {
		report_summary_title(out, tree);
		if (tree->planes & REPORT_PLANES_RESOURCES) {
			error = resource_writer_table(out, tree, options.form, options.top);
			if (!error && tree->planes & 1u << REPORT_PLANE_USE)
				busy_writer_counters(out, busy, options.top);
		} else if (activities.nr_groups) {
			error = write_activities(out, tree, &activities, &options);
			if (!error)
				error = write_split(out, tree, &parts, &options.by, &options,
						    options.top);
		} else {
			write_nothing(out, tree);
		}
		error = error ? error : write_digest(out, tree, busy, &options);
	}
	if (!error)
		error = write_ranges(out, tree, &ranges, &options);
	if (!error) {
		if (tree->leaves_given_up & 1u << REPORT_BY_HOST)
			fputs("\nmore stacks than a table adds up by host: --by host does\n", out);
		else if (activities.nr_groups && !(tree->planes & REPORT_PLANES_RESOURCES))
			error = write_split(out, tree, &hosts, &host, &options, UINT32_MAX);
	}
	if (!error)
		error = write_details(out, tree, busy, &options);
	if (!error) {
		fputc('\n', out);
		report_summary_write(out, tree, "");
		const struct marked_steps steps = marked_steps_of(tree, busy, options.statistics);
		write_steps(out, &steps);
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
