#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/service/job_dir.h"
#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/newest_profile.h"
#include "cli/base/open_page.h"
#include "cli/base/output_dir.h"
#include "cli/base/pager.h"
#include "cli/base/progress.h"
#include "cli/base/terminal.h"
#include "cli/base/verbs.h"
#include "cli/run/output_files.h"
#include "options/option_line.h"
#include "report/digest/report_refusal.h"
#include "report/model/report_summary.h"
#include "report/names/class_list.h"
#include "report/names/text_line.h"
#include "report/profile/whole_profile.h"
#include "report/topology/straggler_switches.h"
#include "report/view/report_subject.h"
#include "report/writers/clocks_writer.h"
#include "timeline/log/event_format.h"

struct report {
	struct report_request request;
	struct report_options names;
	enum report_subject_id rows;
	const char *profile_path, *output_path, *topology_path;
	struct straggler_topology *topology; /* owns */
	bool files, strict, opens, demangle_given, format_given;
	struct terminal terminal; /* standard output */
	char newest[PATH_MAX];    /* the profile, if none was named */
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
	if (report->request.folded.weight == FOLDED_BYTES ||
	    report->request.folded.weight == FOLDED_COUNT)
		return OPTION_LINE_GO;
	return option_line_refuse(&option_table_report,
				  "--memory weighs by bytes or count, not by time");
}

/* Resources are weighed by one of them. Formats that show time alone have none. Planes without bytes are not weighed by
 * these. Returns as set_memory_weight(). */
static int set_plane_weight(struct report *report)
{
	const enum report_format format = report->request.format;

	const uint32_t resources = report_planes_resources(report->names.planes);
	enum folded_weight *weight = &report->request.folded.weight;

	if (*weight >= FOLDED_RESOURCE && !(resources & 1u << (*weight - FOLDED_RESOURCE)))
		return option_line_refuse(
			&option_table_report,
			"--weight energy is for --planes energy, and sm, occupancy, tensor, dram, "
			"nvlink and pcie are for --planes use");
	if (*weight == FOLDED_BYTES && !report_planes_have_bytes(report->names.planes))
		return option_line_refuse(&option_table_report, REPORT_PLANES_NO_BYTES);
	if (!resources)
		return OPTION_LINE_GO;
	if (report->given[REPORT_DETAIL_UNIT])
		return option_line_refuse(&option_table_report,
					  "--unit is for time: --planes energy and use have units "
					  "of their own");
	if ((format == REPORT_FOLDED || format == REPORT_HTML) &&
	    !report->given[REPORT_DETAIL_WEIGHT])
		*weight = FOLDED_RESOURCE +
			  (resources & RESOURCES_OF_ENERGY ? RESOURCE_ENERGY : RESOURCE_SM);
	if (format == REPORT_FOLDED || format == REPORT_HTML || format == REPORT_TABLE ||
	    format == REPORT_JSON || format == REPORT_CSV)
		return OPTION_LINE_GO;
	return option_line_refuse(&option_table_report,
				  "--planes energy and use are folded, html, a table, json or csv");
}

/* Sets the format if none is given, and refuses impossible options of the subject. Returns as set_memory_weight(). */
static int set_subject(struct report *report)
{
	struct report_request *request = &report->request;
	char *error = NULL;

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
	const bool may_be_table = !report->format_given && request->format == REPORT_FOLDED &&
				  report->terminal.is_terminal && !report->output_path;
	report->given[REPORT_DETAIL_TOP] = request->top > 0;
	report->given[REPORT_DETAIL_VERBOSE] = request->verbose;
	/* --files writes pages of HTML, too. */
	report->given[REPORT_DETAIL_FRAMEWORKS] =
		report->names.view.frameworks != NULL && !report->files;
	request->user_frames = report->names.view.frames == REPORT_FRAMES_USER;
	report->given[REPORT_DETAIL_TOPOLOGY] = report->topology_path != NULL;
	for (uint32_t i = 0; i < REPORT_DETAILS; i++)
		request->details |= (uint32_t)report->given[i] << i;
	/* People get a table, unless an option is one of folded text. */
	if (may_be_table)
		request->format = REPORT_TABLE;
	if (may_be_table && report_subject_check(request, &error) == 0)
		return OPTION_LINE_GO;
	if (may_be_table) {
		free(error);
		request->format = REPORT_FOLDED;
	}
	if (report_subject_check(request, &error) == 0)
		return OPTION_LINE_GO;
	int status =
		option_line_refuse(&option_table_report, "%s", error ? error : "out of memory");
	free(error);
	return status;
}

static void say_left_out(const char *path, const char *reason)
{
	log_notice("%s is newer, but left out: %s", path, reason);
}

/* Takes the newest profile of the directory, and says so. OPTION_LINE_GO, or the exit status after a message. */
static int take_newest(struct report *report)
{
	char age[NEWEST_PROFILE_AGE_SIZE];
	uint64_t age_s;
	uint32_t nr = newest_profile_find(".", say_left_out, report->newest, &age_s);

	if (nr == 0)
		return option_line_refuse(&option_table_report,
					  "no profile given, and none is here: `flamegrid run -- "
					  "COMMAND` makes " OUTPUT_DEFAULT);
	report->profile_path = report->newest;
	if (nr > 1)
		log_notice("%s, of %s, the newest of %" PRIu32 " profiles here", report->newest,
			   newest_profile_age(age_s, age), nr);
	else
		log_notice("%s, of %s", report->newest, newest_profile_age(age_s, age));
	return OPTION_LINE_GO;
}

/* Returns an option that the files of --files, or the page of --open, do not follow; NULL: there is none. */
static const char *unused_option(const struct report *report)
{
	const bool *given = report->given;
	const struct {
		bool is_given;
		const char *name;
	} options[] = {
		{report->files && report->opens, "--open"},
		{report->request.folded.by.nr_dimensions, "--by"},
		{report->format_given, "--format"},
		{report->output_path, "--output"},
		{report->names.memory != REPORT_MEMORY_NONE, "--memory"},
		{report->names.planes, "--planes"},
		{report->request.top, "--top"},
		{report->request.verbose, "--verbose"},
		{report->topology_path, "--topology"},
		{report->strict, "--strict"},
		{given[REPORT_DETAIL_WEIGHT], "--weight"},
		{given[REPORT_DETAIL_UNIT], "--unit"},
		{report->opens && given[REPORT_DETAIL_LINES], "--lines"},
		{report->opens && given[REPORT_DETAIL_FRAMES], "--frames"},
		{report->opens && report->names.view.frameworks, "--frameworks"},
		{report->opens && given[REPORT_DETAIL_BACKWARD], "--backward"},
		{report->opens && given[REPORT_DETAIL_NCCL], "--nccl"},
		{report->opens && report->demangle_given, "--demangle"},
	};
	const uint32_t asked = report->request.asked | (report->rows ? 1u << report->rows : 0);

	if (asked)
		return report_subject_of(asked)->option;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (options[i].is_given)
			return options[i].name;
	return NULL;
}

/* OPTION_LINE_GO, or the exit status after a message. */
static int check_pages(const struct report *report)
{
	const char *unused = report->files || report->opens ? unused_option(report) : NULL;

	if (!unused)
		return OPTION_LINE_GO;
	return option_line_refuse(&option_table_report,
				  report->files ? "--files writes all files: %s changes nothing"
						: "--open opens the page: %s changes nothing",
				  unused);
}

static int parse(struct report *report, int argc, char **argv)
{
	struct report_request *request = &report->request;
	const struct option_target targets[] = {
		{"format", .choice = &request->format, .flag = &report->format_given},
		{"by", .take = take_by, .context = &request->folded.by},
		{"unit", .choice = &request->folded.unit,
		 .flag = &report->given[REPORT_DETAIL_UNIT], .first = FOLDED_NS},
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
		{"open", .flag = &report->opens},
		{"strict", .flag = &report->strict},
		{NULL, .take = take_subject, .context = report},
	};
	const struct option_table *table = &option_table_report;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	status = check_pages(report);
	if (status != OPTION_LINE_GO)
		return status;
	status = set_subject(report);
	if (status == OPTION_LINE_GO)
		status = set_memory_weight(report);
	if (status == OPTION_LINE_GO)
		status = set_plane_weight(report);
	report->profile_path = argv[optind];
	if (status == OPTION_LINE_GO && !report->profile_path)
		status = take_newest(report);
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
	struct progress progress;
	char *summary, *error = NULL;
	int result = -ENAMETOOLONG;
	bool empty;

	progress_start(&progress, "reading the profile and writing its files");
	settle(report->profile_path);
	if (snprintf(output.path, sizeof(output.path), "%s", report->profile_path) <
	    (int)sizeof(output.path))
		result = output_files_write(&output, &report->names, &empty, &summary, &error);
	progress_stop(&progress);
	if (result == 0) {
		fputs(summary ? summary : "", stderr);
		free(summary);
	} else {
		log_error("%s%s%s", error ? "" : report->profile_path, error ? "" : ": ",
			  error ? error : strerror(-result));
	}
	free(error);
	return result == 0 ? EXIT_OK : EXIT_FAILED;
}

/* --strict refuses these. */
static bool is_lossy(const struct report_tree *tree)
{
	return tree->lost || tree->state == REPORT_INCOMPLETE;
}

/* Says why the profile has nothing of what the option asks for. refusal: NULL: the run did not ask for it. */
static void say_empty(const char *option, const char *name, const char *refusal,
		      const char *records)
{
	char line[REPORT_REFUSAL_LINE_SIZE];

	log_notice("%s%s: %s", option, name, report_refusal_line(refusal, records, line));
}

/* A plane that was asked for and has no records leaves nothing in most formats. */
static void say_empty_planes(uint32_t planes, const struct report_tree *tree)
{
	const char *counters = report_refusal_counters(tree);
	char text[REPORT_REFUSAL_SIZE];

	for (uint32_t i = REPORT_PLANE_GPU + 1; i < REPORT_PLANES; i++) {
		const enum report_plane plane = (enum report_plane)i;

		if (planes != REPORT_PLANES_ALL && planes & 1u << plane &&
		    !report_summary_has(tree, plane))
			say_empty("--planes ", report_plane_name(plane),
				  report_refusal_plane(tree, plane, text),
				  report_plane_options(plane));
	}
	if (planes & 1u << REPORT_PLANE_USE && counters)
		log_notice("--planes %s: %s", report_plane_name(REPORT_PLANE_USE), counters);
}

/* The same of memory, of metrics and of calls of NCCL. A table of these calls says it itself. */
static void say_empty_subjects(const struct report *report, const struct report_view *view)
{
	const struct report_tree *tree = view->tree;
	const struct report_request *request = &report->request;
	const bool is_rows = request->asked & 1u << REPORT_SUBJECT_COLLECTIVE_ROWS;
	char text[REPORT_REFUSAL_SIZE];

	if (report->names.memory != REPORT_MEMORY_NONE && tree->nr_memory == 0)
		say_empty("--memory", "", report_refusal_plane(tree, REPORT_PLANE_MEMORY, text),
			  report_plane_options(REPORT_PLANE_MEMORY));
	if (request->asked & 1u << REPORT_SUBJECT_METRICS && !tree->metrics)
		say_empty("--metrics", "", report_refusal_metrics(tree, text), "--metrics sol");
	if ((is_rows || request->asked & 1u << REPORT_SUBJECT_COLLECTIVES) &&
	    request->format != REPORT_TABLE && view->collectives && !view->collectives->nr_sums)
		say_empty(is_rows ? "--rows " : "--", "collectives",
			  tree->is_part ? REPORT_REFUSAL_PART : NULL, "--collectives on");
}

/* Rows of too many leaves stand for several threads, streams and so on. */
static void say_given_up(const struct report_tree *tree)
{
	char words[128] = "";

	for (uint32_t i = 0; i < REPORT_DIMENSIONS; i++)
		if (tree->leaves_given_up & 1u << i)
			text_line_append(words, sizeof(words), "%s%s", *words ? "," : "",
					 report_dimension_word((enum report_dimension)i));
	if (*words)
		log_notice("more than %u stacks: rows do not tell apart %s; --by %s does, in a "
			   "larger report",
			   REPORT_ROWS_MOST, words, words);
}

/* Returns whether the report is a table on a terminal. */
static bool shows(const struct report *report)
{
	return report->request.format == REPORT_TABLE && report->terminal.is_terminal &&
	       !report->output_path;
}

struct shown {
	const struct report_view *view;
	const struct report_request *request;
};

static int write_shown(void *context, FILE *out)
{
	const struct shown *shown = context;

	return report_subject_write(shown->view, out, shown->request);
}

/* Writes a table for the terminal. 0 or -errno with *error. */
static int show(const struct report *report, const struct report_view *view, char **error)
{
	struct shown shown = {view, &report->request};
	int result = pager_show_text(&report->terminal, write_shown, &shown);

	return result < 0 ? error_text_set(error, result, "standard output: %s", strerror(-result))
			  : 0;
}

/* A file of other hosts would have no effect. */
static void say_hosts_without_switch(const struct report *report, const struct report_view *view)
{
	const char *first = "";
	uint32_t size = 0;
	const uint32_t nr =
		straggler_switches_missing(view->profile, report->topology, &first, &size);

	if (nr)
		log_warning("%s: has no switch of %" PRIu32 " host%s of the profile, such as %.*s: "
			    "where switches are not known, hosts are taken together by their names",
			    report->topology_path, nr, nr == 1 ? "" : "s", (int)size, first);
}

/* Reads the profile, and writes the report. 0 or -errno with *error. */
static int make(struct report *report, struct report_view *view, const char *path, char **error)
{
	struct report_request *request = &report->request;
	struct progress progress;

	/* A page has all frames, and a switch. */
	if (request->format == REPORT_HTML)
		report->names.view.frames = REPORT_FRAMES_ALL;
	report_subject_bound(request, &report->names);
	if (shows(report))
		request->form =
			(struct text_form){report->terminal.columns, report->terminal.has_colours};
	progress_start(&progress, "reading the profile");
	int result = report_view_open(view, path, &report->names, error);
	if (result == 0 && report->topology_path)
		result = straggler_topology_read(report->topology_path, &report->topology, error);
	view->topology = report->topology;
	if (result == 0 && report->topology)
		result = straggler_switches_check(view->profile, report->topology,
						  report->topology_path, error);
	if (result == 0 && report->topology)
		say_hosts_without_switch(report, view);
	progress_say(&progress, "looking for findings");
	if (result == 0 && report_subject_has_findings(request))
		result = report_view_find(view, error);
	progress_say(&progress, "comparing ranks");
	if (result == 0)
		result = report_subject_read(view, report_subject_needs(request), error);
	progress_say(&progress, "writing the report");
	if (report->terminal.is_terminal && !report->output_path)
		progress_stop(&progress);
	if (result == 0 && shows(report))
		result = show(report, view, error);
	else if (result == 0)
		result = report_subject_save(view, report->output_path, request, error);
	progress_stop(&progress);
	return result;
}

/* Some formats have no room for the profile's state (report_subject_says_state()). */
static void say_state(const struct report *report, const struct report_view *view)
{
	const bool is_warning = is_lossy(view->tree) || view->tree->state == REPORT_EMPTY;
	char line[REPORT_SUMMARY_SIZE], prefix[32];

	if (report->request.format == REPORT_SAMPLES && view->profile->raw_samples == 0)
		log_notice("samples were not kept one by one (run --raw-samples on)");
	if (report->request.format == REPORT_SAMPLES &&
	    *clocks_writer_line(view->clocks, line, sizeof(line)))
		log_notice("each sample's time is its own host's; %s (--clocks)", line);
	snprintf(prefix, sizeof(prefix),
		 "%sflamegrid: ", log_mark(is_warning ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE));
	report_subject_remarks(view, &report->request, stderr, prefix);
	report_summary_write(stderr, view->tree, prefix);
	report_summary_planes(stderr, view->tree, prefix);
	if (report->names.memory != REPORT_MEMORY_NONE)
		report_summary_memory(stderr, view->tree, prefix);
	if (report_summary_mixed(view->tree, line, sizeof(line)))
		fprintf(stderr, "%s%s\n", prefix, line);
}

static void say_end(const struct report *report, const struct report_view *view)
{
	const enum report_format format = report->request.format;

	say_empty_planes(report->names.planes, view->tree);
	say_empty_subjects(report, view);
	if (format == REPORT_JSON || format == REPORT_CSV)
		say_given_up(view->tree);
	if (!report_subject_says_state(format))
		say_state(report, view);
}

/* What people may want to look at next. */
static void say_more(const struct report *report, const struct report_view *view)
{
	char store[PATH_MAX], timeline[PATH_MAX];
	const char *path = output_dir_store(report->profile_path, store);

	if (!shows(report))
		return;
	if (view->profile->written)
		log_notice("the job still runs: flamegrid top %s", report->profile_path);
	else if (snprintf(timeline, sizeof(timeline), "%s" EVENT_FORMAT_FOLDER, path) <
			 (int)sizeof(timeline) &&
		 access(timeline, F_OK) == 0)
		log_notice("the steps of its timeline: flamegrid timeline %s --steps",
			   report->profile_path);
}

int verb_report(const char *program, int argc, char **argv)
{
	struct report report = {0};
	struct report_view view;
	char store[PATH_MAX], *error;

	terminal_read(&report.terminal, STDOUT_FILENO);
	int status = parse(&report, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (class_list_read(&error) < 0) {
		log_error("%s", error ? error : "out of memory");
		free(error);
		return EXIT_FAILED;
	}
	if (report.files)
		return write_files(&report);
	if (report.opens)
		return open_page(report.profile_path) < 0 ? EXIT_FAILED : EXIT_OK;
	status = EXIT_FAILED;
	if (make(&report, &view, output_dir_store(report.profile_path, store), &error) < 0)
		log_error("%s", error ? error : "out of memory");
	else
		status = report.strict && is_lossy(view.tree) ? EXIT_LOSS : EXIT_OK;
	if (status != EXIT_FAILED) {
		say_end(&report, &view);
		say_more(&report, &view);
	}
	free(error);
	report_view_close(&view);
	straggler_topology_destroy(report.topology);
	return status;
}
