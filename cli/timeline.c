/* The verb `timeline`: writes what `run --timeline` kept for Perfetto. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_text.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/timeline/event_losses.h"
#include "cli/timeline/profile_lacks.h"
#include "cli/timeline/timeline_make_page.h"
#include "cli/timeline/timeline_make_profile.h"
#include "cli/timeline/timeline_make_sums.h"
#include "cli/timeline/timeline_ranks.h"
#include "cli/timeline/timeline_scope.h"
#include "cli/timeline/timeline_show_kernels.h"
#include "cli/timeline/timeline_show_steps.h"
#include "cli/timeline/timeline_summary.h"
#include "options/option_line.h"
#include "report/model/report_clocks.h"
#include "report/profile/profile.h"
#include "report/profile/profile_collectives.h"
#include "report/profile/whole_profile.h"
#include "timeline/log/event_format.h"
#include "timeline/trace/timeline_calls.h"
#include "timeline/trace/timeline_choice.h"
#include "timeline/trace/timeline_events.h"
#include "timeline/trace/timeline_gauges.h"
#include "timeline/trace/timeline_samples.h"
#include "timeline/trace/trace_writer.h"

/* Those of steps (steps_writer.h), a profile, a trace in Chrome's format, and a page. */
enum timeline_format {
	TIMELINE_TABLE = STEPS_TABLE,
	TIMELINE_CSV = STEPS_CSV,
	TIMELINE_JSON = STEPS_JSON,
	TIMELINE_PROFILE,
	TIMELINE_CHROME,
	TIMELINE_HTML,
};

struct timeline {
	const char *path; /* of the profile's store, as it is given; another one may be read */
	bool lacks_some;  /* timelines of nodes are missing, which has been said */
	struct profile_lacks lacks; /* owns */
	const char *output_path;
	uint64_t from_ns, to_ns; /* from the first event on; to_ns 0: to the end */
	uint32_t step;           /* 0: none */
	bool around_worst, shows_steps, shows_kernels, by_stack, makes_sums;
	bool has_format;
	const char *step_range; /* NULL: steps are marked */
	enum timeline_format format;
	uint8_t *ranks; /* owns; NULL: all */
};

/* OPTION_LINE_GO; otherwise the exit status. */
static int parse(struct timeline *timeline, int argc, char **argv)
{
	const struct option_table *table = &option_table_timeline;
	bool has_to = false;
	const struct option_target targets[] = {
		{"output", .text = &timeline->output_path, .least = 1},
		{"from", .time_ns = &timeline->from_ns},
		{"to", .time_ns = &timeline->to_ns, .flag = &has_to},
		{"step", .number = &timeline->step, .least = 1, .most = UINT32_MAX},
		{"around-worst", .flag = &timeline->around_worst},
		{"steps", .flag = &timeline->shows_steps},
		{"kernels", .flag = &timeline->shows_kernels},
		{"by-stack", .flag = &timeline->by_stack},
		{"step-range", .text = &timeline->step_range, .least = 1},
		{"format", .choice = &timeline->format, .flag = &timeline->has_format},
		{"sums", .flag = &timeline->makes_sums},
		{"ranks", .take = timeline_ranks_take, .context = &timeline->ranks},
	};
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	const bool makes_profile = timeline->format == TIMELINE_PROFILE;
	const bool is_of_steps = timeline->has_format && timeline->format <= TIMELINE_JSON;
	const bool shows_table = timeline->shows_steps || timeline->shows_kernels;
	const bool chooses_time =
		timeline->step || timeline->around_worst || timeline->from_ns || has_to;
	if (timeline->makes_sums && (timeline->output_path || timeline->has_format || shows_table ||
				     timeline->ranks || chooses_time))
		return option_line_refuse(table,
					  "--sums is of the whole profile, and stands alone");
	if (timeline->makes_sums)
		return OPTION_LINE_GO;
	if (!timeline->output_path && !shows_table && (makes_profile || isatty(STDOUT_FILENO)))
		return option_line_lacks(table, "--output is missing");
	if (timeline->shows_steps && timeline->shows_kernels)
		return option_line_refuse(table, "--steps and --kernels: only one is possible");
	if (timeline->has_format && !is_of_steps && shows_table)
		return option_line_refuse(table,
					  "--steps and --kernels have the formats table, csv "
					  "and json");
	if (timeline->step_range && !timeline->shows_steps)
		return option_line_refuse(table, "--step-range is of --steps");
	if (timeline->by_stack && !timeline->shows_kernels)
		return option_line_refuse(table, "--by-stack is of --kernels");
	if (is_of_steps && !shows_table)
		return option_line_refuse(table, "--format table, csv and json are of --steps and "
						 "--kernels");
	if (shows_table && (timeline->step || timeline->around_worst))
		return option_line_refuse(table,
					  "--steps and --kernels show all, or what is between "
					  "--from and --to");
	if (has_to && timeline->to_ns <= timeline->from_ns)
		return option_line_refuse(table, "--to is not after --from");
	if ((timeline->step != 0) + timeline->around_worst +
		    (timeline->from_ns || timeline->to_ns) >
	    1)
		return option_line_refuse(table, "--step, --around-worst, and --from or --to: "
						 "each chooses the time, so only one is possible");
	return OPTION_LINE_GO;
}

struct extent { /* of all events of the log */
	uint64_t first_ns, last_ns;
};

struct shown {
	struct extent extent;
	struct timeline_request request;
	struct timeline_choice choice;
	struct timeline_events events;
	uint32_t nr_silent; /* timeline_source_silent() */
	struct timeline_calls calls;
	struct timeline_samples samples;
	struct timeline_gauges gauges;
	struct capture_pauses pauses;
};

static const char *name_of(const char *path)
{
	return path ? path : "standard output";
}

static void say_clocks(const struct report_clocks *clocks)
{
	uint64_t bound_ns = 0;

	for (uint32_t i = 0; i < clocks->nr_rows; i++)
		if (clocks->rows[i].bound_ns > bound_ns)
			bound_ns = clocks->rows[i].bound_ns;
	if (clocks->nr_rows > 1)
		log_notice("%" PRIu32 " hosts on one clock, give or take %" PRIu64 " ns at most",
			   clocks->nr_rows, bound_ns);
}

/* A file, or standard output. */
static int open_output(const char *path, struct output_file *file)
{
	if (path)
		return output_file_open(file, path, OUTPUT_FILE_FOLLOWS, 0666);
	*file = (struct output_file){.stream = fdopen(dup(STDOUT_FILENO), "w")};
	return file->stream ? 0 : -errno;
}

static int write_file(const struct timeline *timeline, const struct profile *profile,
		      const struct report_clocks *clocks, const struct shown *shown)
{
	struct trace_counts counts = {0};
	struct output_file file;
	long size = 0;
	int error = open_output(timeline->output_path, &file);

	if (!error) {
		error = trace_writer_write(
			file.stream,
			timeline->format == TIMELINE_CHROME ? TRACE_WRITER_CHROME
							    : TRACE_WRITER_PERFETTO,
			profile, clocks,
			&(struct trace_content){&shown->events, &shown->calls, &shown->samples,
						&shown->gauges, &shown->pauses,
						timeline->lacks.sentence},
			&counts);
		size = ftell(file.stream);
		error = output_file_close(&file, error);
	}
	if (error)
		log_error("%s: %s", name_of(timeline->output_path), strerror(-error));
	else
		timeline_summary_say(
			&(struct timeline_summary){&shown->events, &counts, shown->calls.nr_calls,
						   shown->extent.last_ns - shown->extent.first_ns,
						   size, name_of(timeline->output_path)});
	return error;
}

static struct timeline_request request_of(const struct timeline *timeline,
					  const struct extent *extent)
{
	return (struct timeline_request){
		.from_ns = timeline->from_ns ? extent->first_ns + timeline->from_ns : 0,
		.to_ns = timeline->to_ns ? extent->first_ns + timeline->to_ns : UINT64_MAX,
		.ranks = timeline->ranks,
		.nr_ranks = TIMELINE_RANKS_MAX,
	};
}

/* Finds the time to show. 0 or -errno; *choice: whether GPU work may end later, and why. */
static int find_range(const struct timeline *timeline, struct timeline_source *source,
		      const struct extent *extent, struct timeline_request *request,
		      struct timeline_choice *choice)
{
	int error = 0;

	*request = request_of(timeline, extent);
	*choice = (struct timeline_choice){0};
	if (!timeline->step && !timeline->around_worst)
		return 0;
	error = timeline->step ? timeline_choice_step(source, request, timeline->step, choice)
			       : timeline_choice_worst(source, request, choice);
	if (choice->from_ns < extent->first_ns)
		choice->from_ns = extent->first_ns;
	request->from_ns = choice->from_ns;
	request->to_ns = choice->to_ns;
	if (error == 0)
		log_notice("%s; from %.6f s to %.6f s", choice->text,
			   (double)(choice->from_ns - extent->first_ns) * 1e-9,
			   (double)(choice->to_ns - extent->first_ns) * 1e-9);
	return error;
}

/* Calls that cannot be read are left out, and said. 0 or -ENOMEM. */
static int read_calls(const char *store_path, struct timeline_source *source, struct shown *shown)
{
	struct collective_folds *folds;
	char *why = NULL;
	int error = profile_collectives_load(store_path, &folds, &why);

	if (error && error != -ENOMEM)
		log_warning("calls of NCCL are left out: %s", why ? why : strerror(-error));
	free(why);
	if (error)
		return error == -ENOMEM ? error : 0;
	/* Calls are kept longer than events. */
	if (shown->events.from_ns < shown->extent.first_ns)
		shown->events.from_ns = shown->extent.first_ns;
	error = timeline_calls_init(&shown->calls, source, &shown->request, folds, &shown->events);
	collective_folds_destroy(folds);
	return error;
}

/* Samples that cannot be read are left out, and said. 0 or -ENOMEM. */
static int read_samples(const char *store_path, struct timeline_source *source, struct shown *shown)
{
	struct timeline_request request = shown->request;

	request.from_ns = shown->events.from_ns;
	if (shown->events.to_ns > request.to_ns)
		request.to_ns = shown->events.to_ns;
	int error = timeline_samples_init(&shown->samples, source, store_path, &request);
	if (error && error != -ENOMEM)
		log_warning("samples of host threads are left out: %s", strerror(-error));
	if (shown->samples.nr_left_out)
		log_warning("%" PRIu64 " samples of host threads are left out: there are too many",
			    shown->samples.nr_left_out);
	return error == -ENOMEM ? error : 0;
}

/* Telemetry that cannot be read is left out, and said. 0 or -ENOMEM. */
static int read_gauges(const char *store_path, struct timeline_source *source, struct shown *shown)
{
	int error = timeline_gauges_init(&shown->gauges, source, store_path, shown->events.from_ns,
					 shown->events.to_ns);

	if (error && error != -ENOMEM)
		log_warning("clocks and power of GPUs are left out: %s", strerror(-error));
	return error == -ENOMEM ? error : 0;
}

static int read_events(const struct timeline *timeline, const char *store_path,
		       struct timeline_source *source, struct shown *shown)
{
	int error = find_range(timeline, source, &shown->extent, &shown->request, &shown->choice);

	if (!error)
		error = timeline_events_read(source, &shown->request, shown->choice.is_step,
					     &shown->events);
	shown->nr_silent = timeline_source_silent(source, &shown->request, &shown->events.counts);
	if (!error)
		error = read_gauges(store_path, source, shown);
	if (!error)
		error = capture_pauses_read(&shown->pauses, source, &shown->request);
	if (!error)
		error = timeline_events_marks_around(source, &shown->request, &shown->events);
	if (!error)
		error = read_calls(store_path, source, shown);
	return error ? error : read_samples(store_path, source, shown);
}

/* Returns the exit status. */
static int explain(const struct timeline *timeline, int error, const struct timeline_choice *choice)
{
	if (error == -ENOENT && timeline->lacks_some)
		log_error("%s has no timeline so far", timeline->path);
	else if (error == -ENOENT)
		log_error("%s has no timeline: flamegrid run --timeline all keeps one",
			  timeline->path);
	else if (error == -ENODATA)
		log_error("%s: %s", timeline->path, choice->text);
	else
		log_error("%s" EVENT_FORMAT_FOLDER ": %s", timeline->path, strerror(-error));
	if (error == -ENODATA && event_losses_say(&choice->counts, 0, 0))
		return EXIT_LOSS;
	return error == -ENODATA ? EXIT_NOTHING : EXIT_FAILED;
}

/* Returns the exit status. */
static int write_events(const struct timeline *timeline, const struct profile *profile,
			const struct report_clocks *clocks, const struct shown *shown)
{
	const struct timeline_events *events = &shown->events;

	if (events->nr_launches == 0 && events->nr_work == 0) {
		if (event_losses_say(&events->counts, events->nr_launchless, 0))
			return EXIT_LOSS;
		log_error("no event of these ranks was kept in this time: the profile has events "
			  "of %.3f s",
			  (double)(shown->extent.last_ns - shown->extent.first_ns) * 1e-9);
		return EXIT_NOTHING;
	}
	if (write_file(timeline, profile, clocks, shown))
		return EXIT_FAILED;
	say_clocks(clocks);
	event_losses_say_workless(events->nr_workless);
	return event_losses_say(&events->counts, events->nr_launchless, shown->nr_silent)
		       ? EXIT_LOSS
		       : EXIT_OK;
}

/* Returns the exit status. */
static int show_steps(const struct timeline *timeline, const char *store_path,
		      struct timeline_source *source, const struct extent *extent)
{
	return timeline_show_steps(
		&(struct timeline_show_steps){
			.name = timeline->path,
			.store_path = store_path,
			.output_path = timeline->output_path,
			.request = request_of(timeline, extent),
			.range = timeline->step_range,
			.format = (enum steps_format)timeline->format,
			.first_ns = extent->first_ns,
			.lacks = timeline->lacks.sentence,
		},
		source);
}

/* Returns the exit status. */
static int show_kernels(const struct timeline *timeline, struct timeline_source *source,
			const struct extent *extent)
{
	return timeline_show_kernels(
		&(struct timeline_show_kernels){
			.name = timeline->path,
			.output_path = timeline->output_path,
			.request = request_of(timeline, extent),
			.by_stack = timeline->by_stack,
			.format = (enum steps_format)timeline->format,
			.first_ns = extent->first_ns,
			.lacks = timeline->lacks.sentence,
		},
		source);
}

/* The slowest step chooses its own time. The others of its number may begin before it, and end behind it. */
static void cover_steps(const struct timeline_choice *choice, struct timeline_request *request)
{
	for (uint32_t i = 0; i < choice->nr_steps; i++) {
		const struct timeline_step *step = &choice->steps[i];

		if (step->begin_ns < request->from_ns)
			request->from_ns = step->begin_ns;
		if (step->end_ns > request->to_ns)
			request->to_ns = step->end_ns;
	}
}

/* Makes the time a profile, or the page of one. Returns the exit status. */
static int make_part(const struct timeline *timeline, const char *store_path,
		     struct timeline_source *source, const struct extent *extent)
{
	struct shown shown = {.extent = *extent};
	int error = find_range(timeline, source, extent, &shown.request, &shown.choice);

	if (error) {
		const int status = explain(timeline, error, &shown.choice);

		timeline_choice_fini(&shown.choice);
		return status;
	}
	cover_steps(&shown.choice, &shown.request);
	const struct profile_slice slice = {
		.store_path = store_path,
		.source = source,
		.request = &shown.request,
		.steps = shown.choice.steps,
		.nr_steps = shown.choice.nr_steps,
		.may_be_empty = timeline->format == TIMELINE_HTML,
		.is_read_once = timeline->format == TIMELINE_HTML,
		.first_ns = extent->first_ns,
		.last_ns = extent->last_ns,
		.lacks = timeline->lacks.is_incomplete ? timeline->lacks.sentence : NULL};
	const int status =
		timeline->format == TIMELINE_HTML
			? timeline_make_page(&slice, timeline->path, timeline->output_path)
			: timeline_make_profile(&slice, timeline->output_path);

	timeline_choice_fini(&shown.choice);
	return status;
}

/* Returns the exit status. */
static int show_trace(const struct timeline *timeline, const char *store_path,
		      struct timeline_source *source, const struct report_clocks *clocks,
		      const struct extent *extent)
{
	struct shown shown = {.extent = *extent};
	const int error = read_events(timeline, store_path, source, &shown);
	const int status =
		error ? explain(timeline, error, &shown.choice)
		      : write_events(timeline, timeline_source_profile(source), clocks, &shown);

	timeline_choice_fini(&shown.choice);
	timeline_samples_fini(&shown.samples);
	timeline_gauges_fini(&shown.gauges);
	timeline_calls_fini(&shown.calls);
	capture_pauses_fini(&shown.pauses);
	timeline_events_fini(&shown.events);
	return status;
}

/* Returns whether the profile can have the time that was asked for. A page is made of any time. */
static bool can_show(const struct timeline *timeline, const struct profile *profile,
		     const struct extent *extent)
{
	const struct timeline_scope scope = {timeline->path,   timeline->from_ns,
					     timeline->ranks,  TIMELINE_RANKS_MAX,
					     extent->first_ns, extent->last_ns};

	if (!extent->last_ns && timeline->lacks_some) {
		log_error("%s has no timeline so far", timeline->path);
		return false;
	}
	return timeline_scope_has_ranks(&scope, profile) &&
	       (timeline->format == TIMELINE_HTML || timeline_scope_has_time(&scope));
}

/* Returns the exit status. */
static int show_source(const struct timeline *timeline, const char *store_path,
		       struct timeline_source *source, const struct report_clocks *clocks)
{
	struct extent extent;
	int error = timeline_source_extent(source, &extent.first_ns, &extent.last_ns);

	if (!error && !can_show(timeline, timeline_source_profile(source), &extent))
		return EXIT_NOTHING;
	if (!error && timeline->makes_sums)
		return timeline_make_sums(timeline->path, source, extent.first_ns, extent.last_ns);
	const struct timeline_request request = request_of(timeline, &extent);
	if (!error)
		error = event_losses_say_pauses(source, &request, extent.first_ns, extent.last_ns);
	if (error)
		return explain(timeline, error, &(struct timeline_choice){0});
	if (timeline->shows_steps)
		return show_steps(timeline, store_path, source, &extent);
	if (timeline->shows_kernels)
		return show_kernels(timeline, source, &extent);
	if (timeline->format == TIMELINE_PROFILE || timeline->format == TIMELINE_HTML)
		return make_part(timeline, store_path, source, &extent);
	return show_trace(timeline, store_path, source, clocks, &extent);
}

static int show(const struct timeline *timeline, const char *store_path,
		const struct profile *profile)
{
	struct report_clocks *clocks;
	int error = report_clocks_create(profile, &clocks), status = EXIT_FAILED;

	if (!error && timeline->output_path &&
	    output_file_is_of_store(timeline->output_path, timeline->path)) {
		log_error("%s: the profile itself, which a timeline must not replace",
			  timeline->output_path);
		report_clocks_destroy(clocks);
		return EXIT_FAILED;
	}
	struct timeline_source *source =
		error ? NULL : timeline_source_create(store_path, profile, clocks->map);

	if (source)
		status = show_source(timeline, store_path, source, clocks);
	else
		status = explain(timeline, error ? error : -ENOMEM, &(struct timeline_choice){0});
	timeline_source_destroy(source);
	report_clocks_destroy(clocks);
	return status;
}

/* Returns the exit status. */
static int open_and_show(struct timeline *timeline)
{
	struct whole_profile whole;
	struct profile *profile = NULL;
	char *error = NULL;
	int status = EXIT_FAILED;

	if (whole_profile_open(&whole, timeline->path, true, &error) ||
	    profile_load_names(whole.path, &profile, &error)) {
		log_error("%s", error ? error : timeline->path);
	} else if (profile->slice) {
		log_error("%s is a part of a profile, %s: it has no timeline; ask the whole",
			  timeline->path, profile->slice);
	} else {
		timeline->lacks_some = event_losses_say_missing(profile, whole.is_written);
		if (profile_lacks_find(profile, &timeline->lacks))
			log_warning("what the profile lacks is not known: %s", strerror(ENOMEM));
		status = show(timeline, whole.path, profile);
		if (status == EXIT_OK && !whole.is_written &&
		    (timeline->lacks_some || timeline->lacks.is_incomplete))
			status = EXIT_LOSS;
	}
	free(error);
	profile_destroy(profile);
	whole_profile_close(&whole);
	return status;
}

int verb_timeline(const char *program, int argc, char **argv)
{
	struct timeline timeline = {0};
	char store[PATH_MAX];
	int status = parse(&timeline, argc, argv);

	(void)program;
	if (status == OPTION_LINE_GO) {
		timeline.path = output_dir_store(argv[optind], store);
		status = open_and_show(&timeline);
	}
	profile_lacks_fini(&timeline.lacks);
	free(timeline.ranks);
	return status;
}
