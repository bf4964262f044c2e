#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/service/job_dir.h"
#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/run/output_files.h"
#include "options/option_line.h"
#include "report/model/report_summary.h"
#include "report/profile/whole_profile.h"
#include "report/view/report_subject.h"
#include "report/writers/clocks_writer.h"

struct report {
	struct report_request request;
	struct report_options names;
	enum report_subject_id rows;
	const char *profile_path, *output_path, *topology_path;
	struct straggler_topology *topology; /* owns */
	bool files, strict, demangle_given, format_given;
	bool given[REPORT_DETAILS];
};

/* The subject's name is the option's name, or the name and a word. */
static int take_subject(void *context, const char *name, const char *value, char **error)
{
	struct report *report = context;
	char option[64];

	snprintf(option, sizeof(option), "--%s%s%s", name, value ? " " : "", value ? value : "");
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++) {
		if (strcmp(report_subjects[id].option, option) != 0)
			continue;
		if (value)
			report->rows = (enum report_subject_id)id;
		else
			report->request.asked |= 1u << id;
		return 0;
	}
	return error_text_set(error, -EINVAL, "%s: there is no such report", option);
}

static int take_by(void *context, const char *name, const char *value, char **error)
{
	if (report_by_parse(value, context) == 0)
		return 0;
	return error_text_set(error, -EINVAL,
			      "--%s %s: must be of job, host, rank, gpu, context, stream, thread, "
			      "step-kind, each once",
			      name, value);
}

/* Memory takes no time, so its weight is set here. OPTION_LINE_GO, or the exit status after a message. */
static int set_memory_weight(struct report *report)
{
	static const char *const subtitles[] = {
		[REPORT_MEMORY_PEAK] = "memory at each device's peak",
		[REPORT_MEMORY_LIVE] = "memory that lives, or was never freed",
		[REPORT_MEMORY_ALLOCS] = "allocations of memory",
		[REPORT_MEMORY_FREES] = "frees of memory",
	};

	if (report->names.memory == REPORT_MEMORY_NONE)
		return OPTION_LINE_GO;
	if (report->names.planes)
		return option_line_refuse(&option_table_report,
					  "--memory and --planes: one at a time");
	report->request.subtitle = subtitles[report->names.memory];
	if (!report->given[REPORT_DETAIL_WEIGHT])
		report->request.folded.weight = FOLDED_BYTES;
	if (report->request.folded.weight != FOLDED_TIME)
		return OPTION_LINE_GO;
	return option_line_refuse(&option_table_report,
				  "--memory weighs by bytes or count, not by time");
}

/* Sets the format if none is given, and refuses impossible options of the subject. Returns as set_memory_weight(). */
static int set_subject(struct report *report)
{
	struct report_request *request = &report->request;
	char *error;

	if (report->rows)
		request->asked |= 1u << report->rows;
	if (request->format == REPORT_SAMPLES)
		request->asked |= 1u << REPORT_SUBJECT_SAMPLES;
	if (request->folded.by.nr_dimensions)
		request->asked |= 1u << REPORT_SUBJECT_BY;
	if (report->names.memory != REPORT_MEMORY_NONE)
		request->asked |= 1u << REPORT_SUBJECT_MEMORY;
	if (report->names.planes)
		request->asked |= 1u << REPORT_SUBJECT_PLANES;
	if (!report->format_given)
		request->format = report_subject_of(request->asked)->usual;
	report->given[REPORT_DETAIL_TOP] = request->top > 0;
	report->given[REPORT_DETAIL_VERBOSE] = request->verbose;
	/* --files writes pages of HTML, too. */
	report->given[REPORT_DETAIL_FRAMEWORKS] =
		report->names.view.frameworks != NULL && !report->files;
	request->user_frames = report->names.view.frames == REPORT_FRAMES_USER;
	report->given[REPORT_DETAIL_TOPOLOGY] = report->topology_path != NULL;
	for (uint32_t i = 0; i < REPORT_DETAILS; i++)
		request->details |= (uint32_t)report->given[i] << i;
	if (report_subject_check(request, &error) == 0)
		return OPTION_LINE_GO;
	int status =
		option_line_refuse(&option_table_report, "%s", error ? error : "out of memory");
	free(error);
	return status;
}

static int parse(struct report *report, int argc, char **argv)
{
	struct report_request *request = &report->request;
	const struct option_target targets[] = {
		{"format", .choice = &request->format, .flag = &report->format_given},
		{"by", .take = take_by, .context = &request->folded.by},
		{"unit", .choice = &request->folded.unit,
		 .flag = &report->given[REPORT_DETAIL_UNIT], .first = FOLDED_US},
		{"weight", .choice = &request->folded.weight,
		 .flag = &report->given[REPORT_DETAIL_WEIGHT]},
		{"demangle", .choice = &report->names.demangle, .flag = &report->demangle_given},
		{"lines", .choice = &report->names.lines,
		 .flag = &report->given[REPORT_DETAIL_LINES], .first = REPORT_LINES_ON},
		{"backward", .choice = &report->names.view.backward,
		 .flag = &report->given[REPORT_DETAIL_BACKWARD], .first = REPORT_BACKWARD_FORWARD},
		{"nccl", .choice = &report->names.nccl, .flag = &report->given[REPORT_DETAIL_NCCL],
		 .first = REPORT_NCCL_SPLIT},
		{"frames", .choice = &report->names.view.frames,
		 .flag = &report->given[REPORT_DETAIL_FRAMES], .first = REPORT_FRAMES_ALL},
		{"frameworks", .text = &report->names.view.frameworks, .least = 1},
		{"memory", .choice = &report->names.memory, .first = REPORT_MEMORY_PEAK},
		{"planes", .take = report_planes_take, .context = &report->names.planes},
		{"top", .number = &request->top, .least = 1, .most = UINT32_MAX},
		{"verbose", .flag = &request->verbose},
		{"topology", .text = &report->topology_path, .least = 1},
		{"output", .text = &report->output_path, .least = 1},
		{"files", .flag = &report->files},
		{"strict", .flag = &report->strict},
		{NULL, .take = take_subject, .context = report},
	};
	const struct option_table *table = &option_table_report;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	if (report->files && (report->format_given || report->output_path ||
			      report->topology_path || request->asked || report->rows))
		return option_line_refuse(table, "--files writes all files, and no other report");
	status = set_subject(report);
	if (status == OPTION_LINE_GO)
		status = set_memory_weight(report);
	report->profile_path = argv[optind];
	/* Whole C++ names make lines of a thousand characters, which fit no terminal. */
	if (!report->demangle_given && request->format == REPORT_TABLE)
		report->names.demangle = DEMANGLE_SIMPLE;
	return status;
}

/* Puts the profile's parts into its store, unless a process writes it or a site's aggregator may go on with it. Then,
 * or if that fails, reports read the parts. */
static void settle(const char *profile_path)
{
	char store[PATH_MAX], mark[PATH_MAX], *error = NULL;
	const char *path = output_dir_store(profile_path, store);

	if (!whole_profile_is_closed(path) || job_dir_file(profile_path, JOB_DIR_MARK, mark) ||
	    access(mark, F_OK) == 0)
		return;
	if (whole_profile_settle(path, &error) < 0)
		log_warning("%s", error ? error : "out of memory");
	free(error);
}

/* Writes the same files and summary as `run`. Returns the exit status. */
static int write_files(const struct report *report)
{
	struct output_dir output = {.mark = -1};
	char *summary, *error = NULL;
	int status = EXIT_FAILED;
	bool empty;

	settle(report->profile_path);
	if (snprintf(output.path, sizeof(output.path), "%s", report->profile_path) >=
	    (int)sizeof(output.path))
		log_error("%s: %s", report->profile_path, strerror(ENAMETOOLONG));
	else if (output_files_write(&output, &report->names, &empty, &summary, &error) < 0)
		log_error("%s", error ? error : "out of memory");
	else
		status = EXIT_OK;
	if (status == EXIT_OK) {
		fputs(summary ? summary : "", stderr);
		free(summary);
	}
	free(error);
	return status;
}

/* --strict refuses these. */
static bool is_lossy(const struct report_tree *tree)
{
	return tree->lost || tree->state == REPORT_INCOMPLETE;
}

/* A plane that was asked for and has no records leaves nothing in most formats. */
static void say_empty_planes(uint32_t planes, const struct report_tree *tree)
{
	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANES; plane++)
		if (planes != REPORT_PLANES_ALL && planes & 1u << plane &&
		    tree->plane_totals[plane].count == 0)
			log_notice("--planes %s: the profile has nothing of it; `flamegrid run %s` "
				   "records it",
				   report_plane_name((enum report_plane)plane),
				   report_plane_options((enum report_plane)plane));
}

int verb_report(const char *program, int argc, char **argv)
{
	struct report report = {0};
	struct report_view view;
	char store[PATH_MAX], line[REPORT_SUMMARY_SIZE], *error;
	int status = parse(&report, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (report.files)
		return write_files(&report);
	status = EXIT_FAILED;
	const char *path = output_dir_store(report.profile_path, store);
	/* A page has all frames, and a switch. */
	if (report.request.format == REPORT_HTML)
		report.names.view.frames = REPORT_FRAMES_ALL;
	report_subject_bound(&report.request, &report.names);
	int result = report_view_open(&view, path, &report.names, &error);
	if (result == 0 && report.topology_path)
		result = straggler_topology_read(report.topology_path, &report.topology, &error);
	view.topology = report.topology;
	if (result == 0)
		result = report_subject_read(&view, report_subject_needs(&report.request), &error);
	if (result == 0)
		result = report_subject_save(&view, report.output_path, &report.request, &error);
	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	else
		status = report.strict && is_lossy(view.tree) ? EXIT_LOSS : EXIT_OK;
	if (status != EXIT_FAILED)
		say_empty_planes(report.names.planes, view.tree);
	/* Folded text and samples have no room for the state; the other formats contain it. */
	if (status != EXIT_FAILED &&
	    (report.request.format == REPORT_FOLDED || report.request.format == REPORT_SAMPLES)) {
		if (report.request.format == REPORT_SAMPLES && view.profile->raw_samples == 0)
			log_notice("samples were not kept one by one (run --raw-samples on)");
		if (report.request.format == REPORT_SAMPLES &&
		    *clocks_writer_line(view.clocks, line, sizeof(line)))
			log_notice("each sample's time is its own host's; %s (--clocks)", line);
		bool is_warning = is_lossy(view.tree) || view.tree->state == REPORT_EMPTY;
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "%sflamegrid: ",
			 log_mark(is_warning ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE));
		report_summary_write(stderr, view.tree, prefix);
		report_summary_planes(stderr, view.tree, prefix);
		if (report.names.memory != REPORT_MEMORY_NONE)
			report_summary_memory(stderr, view.tree, prefix);
		if (report_summary_mixed(view.tree, line, sizeof(line)))
			fprintf(stderr, "%s%s\n", prefix, line);
	}
	free(error);
	report_view_close(&view);
	straggler_topology_destroy(report.topology);
	return status;
}
