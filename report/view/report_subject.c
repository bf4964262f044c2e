#include "report_subject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_text.h"
#include "base/log.h"
#include "base/output_file.h"
#include "report/compare/run_step.h"
#include "report/model/report_summary.h"
#include "report/profile/profile_collectives.h"
#include "report/writers/clocks_writer.h"
#include "report/writers/collectives_writer.h"
#include "report/writers/csv_writer.h"
#include "report/writers/diff_writer.h"
#include "report/writers/durations_writer.h"
#include "report/writers/html/html_writer.h"
#include "report/writers/json_writer.h"
#include "report/writers/metrics/metrics_writer.h"
#include "report/writers/pprof_writer.h"
#include "report/writers/ranks_writer.h"
#include "report/writers/sample_writer.h"
#include "report/writers/speedscope_writer.h"
#include "report/writers/statistics_writer.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "report/writers/table_writer.h"
#include "report/writers/text_file.h"

#define REMARK_SIZE 4096u

/* With the time axis of the profile's own timeline. */
static int write_with_strips(const struct report_view *view, FILE *out,
			     const struct report_request *request, struct html_options *html)
{
	struct time_strips strips;
	int error = report_view_strips(view, request->axis_events_max, &strips);

	if (error == -EFBIG && request->axis_events_max)
		log_notice("the page has no time axis, which would take long for over %" PRIu64
			   " events: `flamegrid report -f html %s` makes a page with one",
			   request->axis_events_max, view->given_path);
	else if (error && error != -ENOENT)
		log_warning("%s: the page has no time axis: %s", view->given_path,
			    strerror(-error));
	if (!error && strips.nr_strips)
		html->strips = &strips;
	error = html_writer_write(out, view->diff ? &view->diff->tree : view->tree, html);
	time_strips_fini(&strips);
	return error;
}

/* Writes the difference; NULL: the profile's tree. */
static int write_html(const struct report_view *view, FILE *out,
		      const struct report_request *request)
{
	const struct report_by *by = &request->folded.by;
	char step[REPORT_SUMMARY_SIZE];
	struct html_options html = {.weight = request->folded.weight,
				    .subtitle = request->subtitle,
				    .user_frames = request->user_frames,
				    .diff = view->diff,
				    .path = view->given_path};
	/* A difference has no tables: theirs would be those of the whole job. */
	if (!view->diff) {
		html.statistics = view->statistics;
		html.collectives = view->collectives;
		html.busy = view->busy;
		html.findings = view->findings;
		html.straggler = view->straggler;
	}

	if (view->changes && view->changes->scale.unit <= RUN_COLLECTIVES) {
		html.unit = run_unit_name(view->changes->scale.unit);
		html.units = view->changes->scale.before * view->changes->scale.factor;
	}
	if (view->changes && view->changes->step.is_known)
		html.step = run_step_text(&view->changes->step, step, sizeof(step));
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		html.split |= 1u << by->dimensions[i];
	if (request->axis) {
		html.strips = request->axis->strips;
		html.pieces = request->axis->pieces;
		html.path = request->axis->path;
		return html_writer_write(out, view->tree, &html);
	}
	return write_with_strips(view, out, request, &html);
}

static int write_calls_table(const struct report_view *view, FILE *out,
			     const struct report_request *request)
{
	fprintf(out, "%s\n", view->tree->title);
	const int error =
		statistics_writer_calls(out, view->statistics, &request->form, UINT32_MAX);

	return error ? error : text_file_flush(out);
}

static int write_samples(const struct report_view *view, FILE *out,
			 const struct report_request *request)
{
	bool with_clocks = request->asked & 1u << REPORT_SUBJECT_CLOCKS;

	return sample_writer_write(out, view->store_path, view->profile, view->options,
				   with_clocks ? view->clocks : NULL);
}

/* Makes a cell of the table from one call of a writer. needs: the part of the view that it writes. */
#define WRITE(name, needs, ...)                                                                    \
	static int name(const struct report_view *view, FILE *out,                                 \
			const struct report_request *request)                                      \
	{                                                                                          \
		(void)request;                                                                     \
		return view->needs ? (__VA_ARGS__) : -EINVAL;                                      \
	}
WRITE(write_folded, tree, folded_writer_write(out, view->tree, &request->folded))
WRITE(write_table, tree,
      table_writer_write(out, view->tree, view->busy,
			 &(const struct table_options){.top = request->top,
						       .statistics = view->statistics,
						       .gpus = view->findings ? &view->gpus : NULL,
						       .findings = view->findings,
						       .form = &request->form,
						       .by = request->folded.by}))
WRITE(write_json, tree,
      json_writer_write(out, view->tree, view->busy, view->statistics, view->collectives,
			view->findings, &request->folded.by))
WRITE(write_csv, tree, csv_writer_write(out, view->tree, &request->folded.by))
WRITE(write_pprof, busy,
      pprof_writer_write(out, &(const struct pprof_input){.profile = view->profile,
							  .options = view->options,
							  .tree = view->tree,
							  .busy = view->busy,
							  .by = &request->folded.by}))
WRITE(write_speedscope, tree,
      speedscope_writer_write(out,
			      &(const struct speedscope_input){.profile = view->profile,
							       .options = view->options,
							       .tree = view->tree,
							       .weight = request->folded.weight,
							       .by = &request->folded.by}))
WRITE(write_straggler_table, straggler,
      straggler_writer_table(out, view->straggler, view->tree, &request->form, request->top,
			     request->verbose))
WRITE(write_straggler_json, straggler, straggler_rows_json(out, view->straggler, view->tree))
WRITE(write_straggler_csv, straggler, straggler_rows_csv(out, view->straggler))
WRITE(write_ranks_table, ranks, ranks_writer_table(out, view->ranks, view->tree, &request->form))
WRITE(write_ranks_json, ranks, ranks_writer_json(out, view->ranks, view->tree))
WRITE(write_ranks_csv, ranks, ranks_writer_csv(out, view->ranks))
WRITE(write_collectives_table, collectives,
      collectives_writer_table(out, view->collectives, view->tree, &request->form, request->top,
			       request->verbose))
WRITE(write_collectives_csv, collectives, collectives_writer_csv(out, view->collectives))
WRITE(write_calls_csv, statistics,
      statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_CALLS))
WRITE(write_failures_csv, statistics,
      statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_FAILURES))
WRITE(write_configurations_csv, statistics,
      statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_CONFIGS))
WRITE(write_metrics_table, tree,
      metrics_writer_report(out, view->tree, &request->form, request->top))
WRITE(write_metrics_csv, tree, metrics_writer_csv(out, view->tree))
WRITE(write_durations_csv, tree, durations_writer_csv(out, view->tree))
WRITE(write_clocks_table, clocks,
      clocks_writer_table(out, view->clocks, view->tree, &request->form))
WRITE(write_clocks_json, clocks, clocks_writer_json(out, view->clocks, view->tree))
WRITE(write_clocks_csv, clocks, clocks_writer_csv(out, view->clocks))
WRITE(write_diff_folded, diff, diff_writer_folded(out, view->diff, &request->folded))
WRITE(write_diff_html, diff, write_html(view, out, request))
WRITE(write_diff_table, changes,
      change_writer_table(out, view->changes, &request->form, request->top))
WRITE(write_diff_json, changes, change_writer_json(out, view->changes))
#undef WRITE

static int read_collectives(struct report_view *view, struct collective_folds **folds)
{
	struct collective_folds *taken = *folds;

	*folds = NULL;
	report_collectives_destroy(view->collectives); /* two options may ask for them */
	return report_collectives_create(view->profile, taken, view->options, &view->collectives);
}

static int read_straggler(struct report_view *view, struct collective_folds **folds)
{
	struct collective_folds *taken = *folds;

	*folds = NULL;
	return report_straggler_create(view->profile, view->store_path, view->topology, taken, NULL,
				       &view->straggler);
}

/* Refines the hosts' clocks by the collectives. */
static int read_clocks(struct report_view *view, struct collective_folds **folds)
{
	return report_clocks_refine(view->clocks, view->profile, (*folds)->log);
}

#define SET(id)    (1u << REPORT_SUBJECT_##id)
#define LEAVES     (SET(BY) | SET(MEMORY) | SET(PLANES))
#define CSV(name)  [REPORT_CSV] = name##_csv
#define DATA(name) [REPORT_TABLE] = name##_table, [REPORT_JSON] = name##_json, CSV(name)

#define DETAIL(id) (1u << REPORT_DETAIL_##id)
#define STACKS     ((1u << REPORT_DETAILS) - DETAIL(LINES))
#define ROWS                                                                                       \
	{                                                                                          \
		[REPORT_TABLE] = DETAIL(TOP) | DETAIL(VERBOSE)                                     \
	}

/* Each row has the option, the usual format, the options that it takes, its formats without leaves, the options of its
 * formats, its input, and its writers. */
/* clang-format off */
const struct report_subject report_subjects[REPORT_SUBJECT_ALL] = {
	[REPORT_SUBJECT_WORK] = {"--rows activities", REPORT_FOLDED, LEAVES, 0,
		{[REPORT_FOLDED] = DETAIL(WEIGHT) | DETAIL(UNIT) | STACKS, [REPORT_HTML] = DETAIL(WEIGHT) | STACKS,
		[REPORT_TABLE] = DETAIL(TOP), [REPORT_JSON] = STACKS, [REPORT_CSV] = STACKS,
		[REPORT_PPROF] = STACKS, [REPORT_SPEEDSCOPE] = DETAIL(WEIGHT) | STACKS}, NULL,
		{[REPORT_FOLDED] = write_folded, [REPORT_HTML] = write_html, DATA(write),
		[REPORT_PPROF] = write_pprof, [REPORT_SPEEDSCOPE] = write_speedscope}},
	[REPORT_SUBJECT_STRAGGLER] = {"--straggler", REPORT_TABLE, 0, 0,
		{[REPORT_TABLE] = DETAIL(TOP) | DETAIL(VERBOSE) | DETAIL(TOPOLOGY),
		[REPORT_JSON] = DETAIL(TOPOLOGY), [REPORT_CSV] = DETAIL(TOPOLOGY)}, read_straggler,
		{DATA(write_straggler)}},
	[REPORT_SUBJECT_RANKS] = {"--ranks", REPORT_TABLE, SET(RANK_ROWS), 0, {0}, NULL,
		{DATA(write_ranks)}},
	[REPORT_SUBJECT_RANK_ROWS] = {"--rows ranks", REPORT_CSV, 0, 0, {0}, NULL,
		{CSV(write_ranks)}},
	[REPORT_SUBJECT_COLLECTIVES] = {"--collectives", REPORT_TABLE, LEAVES | SET(COLLECTIVE_ROWS),
		1u << REPORT_TABLE | 1u << REPORT_CSV, ROWS, read_collectives,
		{[REPORT_TABLE] = write_collectives_table, [REPORT_JSON] = write_json,
		CSV(write_collectives)}},
	[REPORT_SUBJECT_COLLECTIVE_ROWS] = {"--rows collectives", REPORT_CSV, 0, 0, {0},
		read_collectives, {CSV(write_collectives)}},
	[REPORT_SUBJECT_CALLS] = {"--rows calls", REPORT_CSV, 0, 0, {0}, NULL,
		{[REPORT_TABLE] = write_calls_table, CSV(write_calls)}},
	[REPORT_SUBJECT_FAILURES] = {"--rows failures", REPORT_CSV, 0, 0, {0}, NULL,
		{CSV(write_failures)}},
	[REPORT_SUBJECT_CONFIGURATIONS] = {"--rows configurations", REPORT_CSV, 0, 0, {0}, NULL,
		{CSV(write_configurations)}},
	[REPORT_SUBJECT_TIMES] = {"--rows times", REPORT_CSV, SET(MEMORY) | SET(PLANES), 0, {0}, NULL,
		{CSV(write_durations)}},
	[REPORT_SUBJECT_METRICS] = {"--metrics", REPORT_TABLE, 0, 0, {[REPORT_TABLE] = DETAIL(TOP)}, NULL,
		{[REPORT_TABLE] = write_metrics_table, [REPORT_JSON] = write_json, CSV(write_metrics)}},
	[REPORT_SUBJECT_SAMPLES] = {"--format samples", REPORT_SAMPLES, SET(CLOCKS) | SET(PLANES), 0,
		{[REPORT_SAMPLES] = STACKS}, NULL,
		{[REPORT_SAMPLES] = write_samples}},
	[REPORT_SUBJECT_CLOCKS] = {"--clocks", REPORT_TABLE, 0, 0, {[REPORT_SAMPLES] = STACKS}, read_clocks,
		{DATA(write_clocks), [REPORT_SAMPLES] = write_samples}},
	[REPORT_SUBJECT_DIFF] = {"--rank", REPORT_FOLDED, 0, 0,
		{[REPORT_FOLDED] = DETAIL(WEIGHT) | DETAIL(UNIT) | STACKS,
		[REPORT_HTML] = DETAIL(WEIGHT) | STACKS}, NULL,
		{[REPORT_FOLDED] = write_diff_folded, [REPORT_HTML] = write_diff_html,
		[REPORT_TABLE] = write_diff_table, [REPORT_JSON] = write_diff_json}},
	[REPORT_SUBJECT_BY] = {.option = "--by"},
	[REPORT_SUBJECT_MEMORY] = {.option = "--memory"},
	[REPORT_SUBJECT_PLANES] = {.option = "--planes"},
};
/* clang-format on */

const char *const report_format_names[REPORT_FORMATS + 1] = {
	[REPORT_FOLDED] = "folded",
	[REPORT_HTML] = "html",
	[REPORT_TABLE] = "table",
	[REPORT_JSON] = "json",
	[REPORT_CSV] = "csv",
	[REPORT_PPROF] = "pprof",
	[REPORT_SPEEDSCOPE] = "speedscope",
	[REPORT_SAMPLES] = "samples",
};

static const char *const detail_names[REPORT_DETAILS] = {
	[REPORT_DETAIL_TOP] = "--top",           [REPORT_DETAIL_VERBOSE] = "--verbose",
	[REPORT_DETAIL_WEIGHT] = "--weight",     [REPORT_DETAIL_UNIT] = "--unit",
	[REPORT_DETAIL_TOPOLOGY] = "--topology", [REPORT_DETAIL_LINES] = "--lines",
	[REPORT_DETAIL_FRAMES] = "--frames",     [REPORT_DETAIL_FRAMEWORKS] = "--frameworks",
	[REPORT_DETAIL_BACKWARD] = "--backward", [REPORT_DETAIL_NCCL] = "--nccl",
};

const struct report_subject *report_subject_of(uint32_t asked)
{
	for (uint32_t id = REPORT_SUBJECT_WORK + 1; id < REPORT_SUBJECTS; id++)
		if (asked & 1u << id)
			return &report_subjects[id];
	return &report_subjects[REPORT_SUBJECT_WORK];
}

/* Appends a name to a list. *before is the text before the first name, and then ", ". */
static void say(FILE *text, const char **before, const char *name)
{
	fprintf(text, "%s%s", *before, name);
	*before = ", ";
}

/* Says which formats of the subject use the first option that the given one does not. */
static int refuse_detail(const struct report_subject *subject, enum report_format format,
			 uint32_t refused, char **error)
{
	const uint32_t detail = refused & -refused;
	const char *before = " (--format ";
	size_t size;
	FILE *text = open_memstream(error, &size);

	if (!text)
		return -EINVAL;
	if (subject != &report_subjects[REPORT_SUBJECT_WORK])
		fprintf(text, "%s ", subject->option);
	fprintf(text, "--format %s does not take %s", report_format_names[format],
		detail_names[__builtin_ctz(detail)]);
	for (uint32_t i = 0; i < REPORT_FORMATS; i++)
		if (subject->details[i] & detail)
			say(text, &before, report_format_names[i]);
	fputs(*before == ',' ? ")" : "", text);
	fclose(text);
	return -EINVAL;
}

/* Says in which formats the subject has leaves to split or select. */
static int refuse_leaves(const struct report_subject *subject, enum report_format format,
			 uint32_t refused, char **error)
{
	const char *before = " (--format ";
	size_t size;
	FILE *text = open_memstream(error, &size);

	if (!text)
		return -EINVAL;
	fprintf(text, "%s --format %s does not take %s", subject->option,
		report_format_names[format], report_subjects[__builtin_ctz(refused)].option);
	for (uint32_t i = 0; i < REPORT_FORMATS; i++)
		if (subject->write[i] && !(subject->leafless & 1u << i))
			say(text, &before, report_format_names[i]);
	fputs(*before == ',' ? ")" : "", text);
	fclose(text);
	return -EINVAL;
}

/* Only frames that are folded need to know frameworks. A page of HTML can fold them at any time. */
static int check_frameworks(const struct report_request *request, char **error)
{
	if (!(request->details & DETAIL(FRAMEWORKS)) || request->user_frames ||
	    request->format == REPORT_HTML)
		return 0;
	*error = strdup("--frameworks changes nothing without --frames user");
	return -EINVAL;
}

int report_subject_check(const struct report_request *request, char **error)
{
	const struct report_subject *subject = report_subject_of(request->asked);
	uint32_t own = 1u << (subject - report_subjects) | 1u << REPORT_SUBJECT_WORK;
	uint32_t refused = request->asked & ~(own | subject->takes);
	const char *before = " (it takes ";
	size_t size;
	FILE *text;

	*error = NULL;
	if (subject->write[request->format] && !refused) {
		refused = request->asked & LEAVES;
		if (refused && subject->leafless & 1u << request->format)
			return refuse_leaves(subject, request->format, refused, error);
		refused = request->details & ~subject->details[request->format];
		if (refused)
			return refuse_detail(subject, request->format, refused, error);
		return check_frameworks(request, error);
	}
	text = open_memstream(error, &size);
	if (!text)
		return -EINVAL;
	fputs(subject->option, text);
	if (!subject->write[request->format]) {
		fprintf(text, " cannot be written as %s", report_format_names[request->format]);
		before = " (--format ";
		for (uint32_t i = 0; i < REPORT_FORMATS; i++)
			if (subject->write[i])
				say(text, &before, report_format_names[i]);
	} else {
		fprintf(text, " does not take %s", report_subjects[__builtin_ctz(refused)].option);
		for (uint32_t id = 0; id < REPORT_SUBJECT_ALL; id++)
			if (subject->takes & 1u << id)
				say(text, &before, report_subjects[id].option);
	}
	fputs(*before == ',' ? ")" : "", text);
	fclose(text);
	return -EINVAL;
}

void report_subject_bound(const struct report_request *request, struct report_options *options)
{
	const struct report_subject *subject = report_subject_of(request->asked);
	const struct report_by *by = &request->folded.by;

	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		options->steps |= by->dimensions[i] == REPORT_BY_STEP;
	if (subject == &report_subjects[REPORT_SUBJECT_DIFF])
		return;
	options->leaves_most = subject->write[request->format] == write_json ||
					       subject->write[request->format] == write_csv ||
					       subject->write[request->format] == write_table
				       ? REPORT_ROWS_MOST
				       : REPORT_LEAVES_MOST;
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		options->leaves_kept |= 1u << by->dimensions[i];
}

bool report_subject_has_findings(const struct report_request *request)
{
	const struct report_subject *subject = report_subject_of(request->asked);

	return subject->write[request->format] == write_table ||
	       subject->write[request->format] == write_json ||
	       subject->write[request->format] == write_html;
}

uint32_t report_subject_needs(const struct report_request *request)
{
	if (request->format != REPORT_HTML ||
	    report_subject_of(request->asked) != &report_subjects[REPORT_SUBJECT_WORK])
		return request->asked;
	return request->asked | SET(COLLECTIVES) | SET(STRAGGLER);
}

int report_subject_read(struct report_view *view, uint32_t asked, char **error)
{
	struct collective_folds *folds = NULL, *taken;
	int result = 0;

	*error = NULL;
	for (uint32_t id = 0; id < REPORT_SUBJECTS && result == 0; id++) {
		if (!(asked & 1u << id) || !report_subjects[id].read)
			continue;
		if (!folds)
			result = profile_collectives_load(view->store_path, &folds, error);
		if (result < 0)
			break;
		taken = collective_folds_share(folds);
		result = report_subjects[id].read(view, &taken);
		collective_folds_destroy(taken);
		report_view_explain(view, result, error);
	}
	collective_folds_destroy(folds);
	return result;
}

int report_subject_write(const struct report_view *view, FILE *out,
			 const struct report_request *request)
{
	const struct report_subject *subject = report_subject_of(request->asked);

	return subject->write[request->format] ? subject->write[request->format](view, out, request)
					       : -EINVAL;
}

bool report_subject_says_state(enum report_format format)
{
	return format == REPORT_HTML || format == REPORT_TABLE || format == REPORT_JSON;
}

void report_subject_remarks(const struct report_view *view, const struct report_request *request,
			    FILE *out, const char *prefix)
{
	const struct report_subject *subject = report_subject_of(request->asked);
	char line[REMARK_SIZE] = "";

	if (request->format != REPORT_CSV)
		return;
	if (subject->write[REPORT_CSV] == write_ranks_csv)
		ranks_writer_line(view->ranks, line, sizeof(line));
	else if (subject->write[REPORT_CSV] == write_straggler_csv)
		straggler_text_line(view->straggler, line, sizeof(line));
	else if (subject->write[REPORT_CSV] == write_collectives_csv)
		collectives_writer_rows(view->collectives, line, sizeof(line));
	if (*line)
		fprintf(out, "%s%s\n", prefix, line);
}

int report_subject_save(const struct report_view *view, const char *path,
			const struct report_request *request, char **error)
{
	struct output_file file;
	int result = 0;

	*error = NULL;
	if (path && (output_file_is_of_store(path, view->given_path) ||
		     (view->before_path && output_file_is_of_store(path, view->before_path))))
		return error_text_set(error, -EEXIST,
				      "%s: the profile itself, which a report "
				      "must not replace",
				      path);
	if (!path && request->format == REPORT_PPROF && isatty(STDOUT_FILENO))
		return error_text_set(error, -EINVAL,
				      "pprof's format is no text for a terminal: name a file (-o "
				      "FILE), or pipe it");
	if (path)
		result = output_file_open(&file, path, OUTPUT_FILE_FOLLOWS, 0666);
	if (result == 0) {
		result = report_subject_write(view, path ? file.stream : stdout, request);
		if (path)
			result = output_file_close(&file, result);
		else if (fflush(stdout) != 0 && result == 0)
			result = -errno;
	}
	return result < 0 ? error_text_set(error, result, "%s: %s", path ? path : "standard output",
					   strerror(-result))
			  : 0;
}
