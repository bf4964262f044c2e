#include "output_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "base/output_file.h"
#include "base/text_print.h"
#include "cli/base/terminal.h"
#include "proto/ledger.h"
#include "report/digest/report_refusal.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"
#include "report/names/class_list.h"
#include "report/view/report_subject.h"
#include "report/writers/metrics/metrics_summary.h"
#include "report/writers/text_table.h"

#define TOP         5u /* kernels and copies */
#define NUMBER_SIZE 32u

/* A job's end waits for its page: a second for so many events. */
#define AXIS_EVENTS_MAX 10000000u

static const struct report_request folded = {.format = REPORT_FOLDED};

/* A report reveals as much as the store, so it gets the store's mode. */
static mode_t mode_of_store(const struct output_dir *output)
{
	char path[PATH_MAX];
	struct stat store;

	return output_dir_file(output, OUTPUT_STORE, path) == 0 && stat(path, &store) == 0
		       ? store.st_mode & 0666
		       : 0600;
}

static int write_file(const struct output_dir *output, const char *name,
		      const struct report_view *view, const struct report_request *request,
		      char **error)
{
	char path[PATH_MAX];
	struct output_file file;
	int result = output_dir_file(output, name, path);

	if (result == 0)
		result = output_file_open(&file, path, OUTPUT_FILE_REPLACES, mode_of_store(output));
	if (result == 0)
		result = output_file_close(&file, report_subject_write(view, file.stream, request));
	return result < 0 ? error_text_set(error, result, "%s/%s: %s", output->path, name,
					   strerror(-result))
			  : 0;
}

/* Writes folded bytes, from a tree of their own. */
static int write_memory(const struct output_dir *output, const char *name, enum report_memory which,
			const struct report_view *view, const struct report_options *options,
			char **error)
{
	struct report_options memory = *options;
	struct report_view other = *view;
	const struct report_request form = {.format = REPORT_FOLDED,
					    .folded = {.weight = FOLDED_BYTES}};

	memory.memory = which;
	int result = report_tree_build(view->profile, &memory, &other.tree);
	if (result == 0)
		result = write_file(output, name, &other, &form, error);
	report_tree_destroy(other.tree);
	return result;
}

/* Writes the kernels and copies that took longest, for people at a terminal. */
static int write_top(FILE *out, const struct report_tree *tree)
{
	const uint64_t total_ns = tree->plane_totals[REPORT_PLANE_GPU].ns;
	struct report_groups groups;
	struct terminal terminal;
	struct text_table table;
	char text[NUMBER_SIZE];

	terminal_read(&terminal, STDERR_FILENO);
	if (!terminal.is_terminal || !log_shows(LOG_LEVEL_NOTICE) || !total_ns)
		return 0;
	int error = report_groups_init(&groups, tree, REPORT_GROUP_ACTIVITY, NULL);
	if (error)
		return error;
	text_table_begin(&table, out, &(struct text_form){terminal.columns, terminal.has_colours});
	text_table_column(&table, &(struct text_column){"time", 0, 0, false, 0});
	text_table_column(&table, &(struct text_column){"share", 0, 0, false, 0});
	text_table_column(&table, &(struct text_column){"count", 0, 0, false, 1});
	text_table_column(&table, &(struct text_column){"name", 0, 0, true, 0});
	for (uint32_t i = 0; i < groups.nr_groups && i < TOP; i++) {
		const struct report_group *group = &groups.groups[i];

		text_table_cell(&table, "%s", report_summary_time(group->ns, text));
		text_table_cell(&table, "%.1f%%", 100.0 * (double)group->ns / (double)total_ns);
		text_table_cell(&table, "%s", report_summary_count(group->count, text));
		text_table_cell(&table, "%s", group->label);
	}
	error = text_table_end(&table);
	report_groups_fini(&groups);
	return error;
}

/* NULL: out of memory. */
static char *make_summary(const struct output_dir *output, const struct report_tree *tree,
			  enum log_level level)
{
	char prefix[32], line[REPORT_SUMMARY_SIZE], *text;
	struct memory_text memory;
	size_t size;

	if (memory_text_open(&memory))
		return NULL;
	FILE *out = memory.out;
	snprintf(prefix, sizeof(prefix), "%sflamegrid: ", log_mark(level));
	const int error = write_top(out, tree);
	fprintf(out, "%s%s; %s/" OUTPUT_HTML "\n", prefix,
		report_summary_line(tree, line, sizeof(line)), output->path);
	report_summary_ledger(out, tree, prefix);
	report_summary_planes(out, tree, prefix);
	report_summary_memory(out, tree, prefix);
	metrics_summary_line(out, tree, prefix);
	report_refusal_write(out, tree, prefix);
	report_summary_cost(out, tree, prefix);
	memory_text_take(&memory, &text, &size);
	if (error) {
		free(text);
		return NULL;
	}
	return text;
}

static int rebuild(const struct output_dir *output, struct report_view *view,
		   const struct report_options *options, uint32_t planes, char **error)
{
	struct report_options wanted = *options;

	wanted.planes = planes;
	int result = report_view_rebuild(view, &wanted);
	view->options = options; /* those of the tree end here */
	return result < 0 ? error_text_set(error, result, "%s: %s", output->path, strerror(-result))
			  : 0;
}

/* Writes the folded stacks of the other planes, then the page with all planes. Memory has files of its own, because it
 * has no total here. */
static int write_planes(const struct output_dir *output, struct report_view *view,
			const struct report_options *options, char **error)
{
	const struct report_request html = {.format = REPORT_HTML,
					    .axis_events_max = AXIS_EVENTS_MAX};
	char name[OUTPUT_PLANE_SIZE];
	uint32_t present = 1u << REPORT_PLANE_GPU;
	int result = 0;

	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANES && result == 0; plane++) {
		if (!view->tree->plane_totals[plane].count)
			continue;
		present |= 1u << plane;
		snprintf(name, sizeof(name), "%s" OUTPUT_PLANE_SUFFIX,
			 report_plane_name((enum report_plane)plane));
		result = rebuild(output, view, options, 1u << plane, error);
		if (result == 0)
			result = write_file(output, name, view, &folded, error);
	}
	if (result == 0 && report_planes_count(present) > 1)
		result = rebuild(output, view, options, present, error);
	if (result == 0)
		result = report_subject_read(view, report_subject_needs(&html), error);
	if (result == 0)
		result = report_view_find(view, error);
	return result ? result : write_file(output, OUTPUT_HTML, view, &html, error);
}

static bool has_recorded(const struct roster_process *process)
{
	if (process->counts.records || process->counts.launches)
		return true;
	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if ((process->ledger[i].reason == LEDGER_SAMPLES ||
		     process->ledger[i].reason == LEDGER_COLLECTIVES) &&
		    process->ledger[i].count)
			return true;
	return false;
}

static bool is_empty(const struct report_view *view)
{
	const struct roster *roster = view->profile->collection->roster;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (has_recorded(roster_process(roster, id)))
			return false;
	return view->statistics->nr_calls == 0;
}

/* Makes the text for a run without a profile. NULL: out of memory. */
static char *make_absence(const struct output_dir *output, const struct report_tree *tree)
{
	const bool is_old = output->kept >= strlen(output->path);
	char as_it_was[sizeof(OUTPUT_AS_IT_WAS) + PATH_MAX] = "";

	if (is_old)
		snprintf(as_it_was, sizeof(as_it_was), OUTPUT_AS_IT_WAS, output->path);
	return text_print("%sflamegrid: %s; " OUTPUT_EMPTY "%s\n", log_mark(LOG_LEVEL_WARNING),
			  tree->verdict, as_it_was);
}

static enum log_level level_of(const struct report_tree *tree, bool is_empty)
{
	return is_empty || tree->lost || tree->state == REPORT_INCOMPLETE ? LOG_LEVEL_WARNING
									  : LOG_LEVEL_NOTICE;
}

/* A list that cannot be used stops no profile. */
static void read_classes(void)
{
	char *error;

	if (class_list_read(&error) < 0)
		log_warning("%s; the page has the built-in classes",
			    error ? error : "out of memory");
	free(error);
}

int output_files_write(const struct output_dir *output, const struct report_options *options,
		       bool *empty, char **summary, char **error)
{
	struct report_options bounded = *options;
	struct report_view view;
	char store_path[PATH_MAX];
	int result = output_dir_file(output, OUTPUT_STORE, store_path);

	*empty = false;
	*summary = *error = NULL;
	if (result < 0)
		return result;
	read_classes();
	report_subject_bound(&folded, &bounded);
	result = report_view_open(&view, store_path, &bounded, error);
	if (result < 0) {
		report_view_close(&view);
		return result;
	}
	/* A profile without records but with processes gives reasons. It is kept if there was no earlier profile. */
	*empty = is_empty(&view) && (*output->earlier || view.tree->nr_processes == 0);
	enum log_level level = level_of(view.tree, is_empty(&view));
	if (!log_shows(level))
		;
	else if (*empty)
		*summary = make_absence(output, view.tree);
	else
		*summary = make_summary(output, view.tree, level);
	if (result == 0)
		result = write_file(output, OUTPUT_FOLDED, &view, &folded, error);
	if (result == 0)
		result = write_planes(output, &view, &bounded, error);
	if (result == 0 && view.statistics->nr_calls)
		result = write_file(output, OUTPUT_API, &view,
				    &(struct report_request){.format = REPORT_TABLE,
							     .asked = 1u << REPORT_SUBJECT_CALLS},
				    error);
	if (result == 0 && view.tree->nr_memory)
		result = write_memory(output, OUTPUT_MEMORY, REPORT_MEMORY_PEAK, &view, &bounded,
				      error);
	if (result == 0 && view.tree->nr_memory)
		result = write_memory(output, OUTPUT_LEAKS, REPORT_MEMORY_LIVE, &view, &bounded,
				      error);
	if (result == 0 && log_shows(level) && !*summary)
		result = error_text_set(error, -ENOMEM, "%s: its summary: %s", output->path,
					strerror(ENOMEM));
	if (result < 0) {
		free(*summary);
		*summary = NULL;
	}
	report_view_close(&view);
	return result;
}

int output_files_finish(struct output_dir *output, int result, char *error)
{
	const struct report_options names = {0};
	char *summary = NULL;
	bool empty = false;

	if (result == 0)
		result = output_files_write(output, &names, &empty, &summary, &error);
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	fputs(summary ? summary : "", stderr);
	if (result == 0 && !empty && *output->earlier)
		log_notice(OUTPUT_EARLIER, output->earlier);
	output_dir_close(output, result == 0 && !empty);
	free(summary);
	free(error);
	return result;
}
