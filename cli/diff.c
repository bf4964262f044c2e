#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/pager.h"
#include "cli/base/verbs.h"
#include "options/option_line.h"
#include "report/compare/change_table.h"
#include "report/compare/pair_tree.h"
#include "report/compare/run_step.h"
#include "report/compare/run_work.h"
#include "report/digest/report_refusal.h"
#include "report/model/report_summary.h"
#include "report/names/class_list.h"
#include "report/names/clean_text.h"
#include "report/view/report_subject.h"

#define MEDIAN  ((uint32_t)REPORT_DIFF_MEDIAN)
#define NO_RANK (MEDIAN - 1)

#define RANKS_SIZE 256u

/* The words of --format and of --by, in their order in the table of options. */
enum diff_format { DIFF_TABLE, DIFF_FOLDED, DIFF_JSON, DIFF_HTML };
static const enum report_format formats[] = {
	[DIFF_TABLE] = REPORT_TABLE,
	[DIFF_FOLDED] = REPORT_FOLDED,
	[DIFF_JSON] = REPORT_JSON,
	[DIFF_HTML] = REPORT_HTML,
};
static const char *const by_names[] = {
	[CHANGE_BY_FRAME] = "frame",
	[CHANGE_BY_KERNEL] = "kernel",
	[CHANGE_BY_LINE] = "line",
	[CHANGE_BY_CLASS] = "class",
};

struct diff {
	const char *profiles[2]; /* before, after; of ranks the second one alone */
	const char *output_path;
	struct report_options names;
	struct report_request request;
	enum change_by by;
	int32_t rank, against;
	bool is_of_ranks;
	/* own */
	struct report_view views[2];
	char stores[2][PATH_MAX];
	char *labels[2];
	char summaries[2][REPORT_SUMMARY_SIZE];
	struct pair_tree *pair;
	struct change_table *table;
	struct change_report report;
	struct run_work *runs[2]; /* has the names in report.step */
};

/* Returns whether reasons of stalls are compared, and nothing else. */
static bool has_stalls(const struct diff *diff)
{
	return diff->names.planes == 1u << REPORT_PLANE_STALLS;
}

/* ---- options */

/* Returns OPTION_LINE_GO, or the exit status after a message. */
static int take_operands(struct diff *diff, int nr, char **operands, uint32_t rank,
			 uint32_t against)
{
	const struct option_table *table = &option_table_diff;

	diff->is_of_ranks = rank != NO_RANK;
	if (diff->is_of_ranks && nr > 1)
		return option_line_refuse(table, "--rank compares ranks of one profile");
	if (diff->is_of_ranks && rank == against)
		return option_line_refuse(table, "a rank cannot be compared with itself");
	if (!diff->is_of_ranks && nr < 2)
		return option_line_lacks(table,
					 "--rank is missing, or a second profile to compare with");
	if (!diff->is_of_ranks && nr > 2)
		return option_line_refuse(table, "only two profiles can be compared");
	if (!diff->is_of_ranks && against != MEDIAN)
		return option_line_refuse(table, "--against changes nothing without --rank");
	diff->rank = (int32_t)rank;
	diff->against = (int32_t)against;
	diff->profiles[0] = operands[0];
	diff->profiles[1] = operands[nr - 1];
	return OPTION_LINE_GO;
}

static int parse(struct diff *diff, int argc, char **argv)
{
	uint32_t rank = NO_RANK, against = MEDIAN;
	enum diff_format format = DIFF_TABLE;
	bool format_given = false, by_given = false, unit_given = false, weight_given = false;
	const struct option_target targets[] = {
		{"rank", .number = &rank, .most = INT32_MAX},
		{"against", .number = &against, .most = INT32_MAX, .first = MEDIAN},
		{"format", .choice = &format, .flag = &format_given},
		{"by", .choice = &diff->by, .flag = &by_given},
		{"top", .number = &diff->request.top, .least = 1, .most = UINT32_MAX},
		{"unit", .choice = &diff->request.folded.unit, .flag = &unit_given,
		 .first = FOLDED_NS},
		{"weight", .choice = &diff->request.folded.weight, .flag = &weight_given,
		 .first = FOLDED_TIME},
		{"planes", .take = report_planes_take_times, .context = &diff->names.planes},
		{"lines", .choice = &diff->names.lines, .first = REPORT_LINES_ON},
		{"output", .text = &diff->output_path, .least = 1},
	};
	const struct option_table *table = &option_table_diff;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status == OPTION_LINE_GO)
		status = take_operands(diff, argc - optind, argv + optind, rank, against);
	if (status != OPTION_LINE_GO)
		return status;
	if (diff->names.planes & REPORT_PLANES_RESOURCES)
		return option_line_refuse(
			table,
			"--planes energy, use: their parts are fitted anew in each profile, so "
			"a change of one may be a change of fit: compare two tables of "
			"report --planes");
	if (!format_given)
		format = diff->is_of_ranks ? DIFF_FOLDED : DIFF_TABLE;
	diff->request.format = formats[format];
	bool has_rows = format == DIFF_TABLE || format == DIFF_JSON;
	if (has_rows && report_planes_count(diff->names.planes) > 1)
		return option_line_refuse(table, "--planes with several planes is for --format "
						 "folded or html: a table would add them up");
	if (by_given && !has_rows)
		return option_line_refuse(table, "--by is for --format table or json");
	if (diff->request.top && format != DIFF_TABLE)
		return option_line_refuse(table, "--top is for --format table");
	if (weight_given && has_rows)
		return option_line_refuse(table, "--weight is for --format folded or html");
	if (diff->request.folded.weight == FOLDED_BYTES &&
	    !report_planes_have_bytes(diff->names.planes))
		return option_line_refuse(table, REPORT_PLANES_NO_BYTES);
	if (unit_given && format != DIFF_FOLDED)
		return option_line_refuse(table, "--unit is for --format folded");
	/* A frame has as much of them as its kernels took time. */
	if (!by_given && has_stalls(diff))
		diff->by = CHANGE_BY_KERNEL;
	if (diff->by == CHANGE_BY_LINE)
		diff->names.lines = REPORT_LINES_ON;
	if (!diff->is_of_ranks)
		diff->names.leaves_most = 1; /* only sums over ranks and threads matter */
	return OPTION_LINE_GO;
}

/* ---- ranks */

/* Writes "0-3, 8"; "none". The rows are by rank. */
static const char *list_ranks(const struct report_ranks *ranks, char text[static RANKS_SIZE])
{
	size_t used = 0;

	snprintf(text, RANKS_SIZE, "none");
	for (uint32_t i = 0; i < ranks->nr_rows && used < RANKS_SIZE;) {
		int32_t first = ranks->rows[i].rank, last = first;

		if (first == REPORT_RANK_NONE)
			break;
		for (; i < ranks->nr_rows && (uint32_t)ranks->rows[i].rank <= (uint32_t)last + 1;
		     i++)
			last = ranks->rows[i].rank;
		used += (size_t)snprintf(text + used, RANKS_SIZE - used,
					 last > first ? "%s%" PRId32 "-%" PRId32 : "%s%" PRId32,
					 used ? ", " : "", first, last);
	}
	return text;
}

static int scale_ranks(struct diff *diff)
{
	struct run_counts counts;
	char *error = NULL;
	int result =
		run_counts_read(diff->views[1].profile, diff->views[1].store_path, &counts, &error);

	if (error)
		log_error("%s", error);
	free(error);
	if (result == 0)
		diff->report = (struct change_report){
			.before = {.label = diff->views[1].diff->label_before},
			.after = {.label = diff->views[1].diff->label_after},
			.scale = run_scale_of_ranks(&counts),
		};
	return result;
}

/* Returns 0, or -errno after an error. */
static int compare_ranks(struct diff *diff)
{
	struct report_view *view = &diff->views[1];
	const char *path = diff->profiles[1];
	char ranks[RANKS_SIZE];

	if (view->ranks && view->ranks->has_jobs) {
		log_error("%s has ranks of several jobs: compare those of one job, in its profile",
			  path);
		return -EINVAL;
	}
	int result = report_diff_create(view->tree, diff->rank, diff->against, &view->diff);

	if (result == -ENOENT)
		log_error(
			"%s has nothing of rank %d, or of the ranks to compare with; its ranks: %s "
			"(flamegrid report %s --ranks)",
			path, diff->rank, list_ranks(view->ranks, ranks), path);
	else if (result < 0)
		log_error("%s", strerror(-result));
	else
		result = scale_ranks(diff);
	return result;
}

/* ---- profiles */

static int make_label(struct diff *diff, int side)
{
	const char *path = diff->profiles[side];

	diff->labels[side] = clean_text_of(path, (uint32_t)strlen(path));
	return diff->labels[side] ? 0 : -ENOMEM;
}

/* Writes the end of a path, which tells profiles apart, into a label of the page. */
static void set_page_label(char *label, size_t size, const char *path)
{
	size_t length = strlen(path);

	snprintf(label, size, "%s%s", length < size ? "" : "...",
		 length < size ? path : path + length - (size - 4));
}

/* Makes the difference of both trees. */
static int make_pair(struct diff *diff, double factor)
{
	struct report_view *after = &diff->views[1];

	report_diff_destroy(after->diff);
	after->diff = NULL;
	pair_tree_destroy(diff->pair);
	int result = pair_tree_create(diff->views[0].tree, after->tree, factor, &diff->pair);
	if (result == 0)
		result = report_diff_create(&diff->pair->tree, PAIR_AFTER, PAIR_BEFORE,
					    &after->diff);
	if (result < 0)
		return result;
	set_page_label(after->diff->label_before, sizeof(after->diff->label_before),
		       diff->labels[0]);
	set_page_label(after->diff->label_after, sizeof(after->diff->label_after), diff->labels[1]);
	return 0;
}

/* Stacks that were cut differ for that reason alone. */
static void warn_of_less(const struct report_tree *tree, const char *path)
{
	uint64_t launches = 0;

	for (uint32_t i = 0; i < tree->nr_losses; i++)
		if (strncmp(tree->strings[tree->losses[i].reason], "less_", 5) == 0)
			launches += tree->losses[i].count;
	if (launches)
		log_warning("%s: --max-cost has taken frames from the stacks of %" PRIu64
			    " launches, so stacks may differ for that reason alone",
			    path, launches);
}

static int find_scale(struct diff *diff)
{
	static const struct source_frameworks none;
	struct run_counts counts[2];
	struct change_table *kernels = NULL;
	double launches = 0;
	char *error = NULL;
	int result = 0;

	for (int i = 0; i < 2 && result == 0; i++)
		result = run_counts_read(diff->views[i].profile, diff->views[i].store_path,
					 &counts[i], &error);
	if (error)
		log_error("%s", error);
	free(error);
	if (result == 0)
		result = change_table_create(diff->views[1].diff, CHANGE_BY_KERNEL, &none, 1,
					     &kernels);
	if (result == 0)
		result = change_table_launches(kernels, &launches);
	change_table_destroy(kernels);
	if (result < 0)
		return result;
	for (int i = 0; i < 2; i++)
		warn_of_less(diff->views[i].tree, diff->profiles[i]);
	const struct run_scale scale = run_scale_choose(&counts[0], &counts[1], launches);
	diff->report = (struct change_report){
		.before = {diff->labels[0],
			   report_summary_line(diff->views[0].tree, diff->summaries[0],
					       REPORT_SUMMARY_SIZE),
			   run_counts_ranks(&counts[0], scale.unit), diff->views[0].tree},
		.after = {diff->labels[1],
			  report_summary_line(diff->views[1].tree, diff->summaries[1],
					      REPORT_SUMMARY_SIZE),
			  run_counts_ranks(&counts[1], scale.unit), diff->views[1].tree},
		.scale = scale,
	};
	return 0;
}

/* Tells how long a step takes, of which the changes are only a part. */
static int compare_steps(struct diff *diff)
{
	const struct check_question question = {
		.runs = (const struct run_work *const *)diff->runs, .nr_before = 1, .nr_after = 1};
	char *error = NULL;
	int result = 0;

	if (diff->report.scale.unit > RUN_STEPS || diff->request.format == REPORT_FOLDED)
		return 0;
	for (int i = 0; i < 2 && result == 0; i++)
		result = run_work_create(diff->views[i].profile, diff->views[i].tree,
					 diff->views[i].store_path, &diff->runs[i], &error);
	if (error)
		log_error("%s", error);
	free(error);
	if (result == 0)
		run_step_compare(&question, diff->report.scale.unit, true, 0, &diff->report.step);
	return result;
}

/* Says what records the planes that were asked for, none of which the profile has. */
static void refuse_empty(const struct diff *diff, const struct report_view *empty)
{
	const uint32_t planes = diff->names.planes;
	char text[REPORT_REFUSAL_SIZE], line[REPORT_REFUSAL_LINE_SIZE];

	if (!planes || planes & 1u << REPORT_PLANE_GPU) {
		log_error("%s has no work to compare", empty->given_path);
		return;
	}
	for (enum report_plane plane = 0; plane < REPORT_PLANES; plane++)
		if (planes & 1u << plane)
			log_error(
				"%s: --planes %s: %s", empty->given_path, report_plane_name(plane),
				report_refusal_line(report_refusal_plane(empty->tree, plane, text),
						    report_plane_options(plane), line));
}

/* Returns 0, or -errno after an error. */
static int compare_profiles(struct diff *diff)
{
	bool has_rows = diff->request.format == REPORT_TABLE || diff->request.format == REPORT_JSON;
	int result = make_label(diff, 0);

	if (result == 0)
		result = make_label(diff, 1);
	if (result == 0)
		result = make_pair(diff, 1);
	if (result == -ENOENT) {
		refuse_empty(diff, &diff->views[diff->views[0].tree->nr_leaves ? 1 : 0]);
		return result;
	}
	if (result == 0)
		result = find_scale(diff);
	if (result == 0)
		result = compare_steps(diff);
	if (result == 0 && !has_rows && diff->report.scale.factor != 1)
		result = make_pair(diff, diff->report.scale.factor);
	if (result < 0)
		log_error("%s", strerror(-result));
	return result;
}

/* ---- the whole */

static int read_classes(void)
{
	char *error;
	int result = class_list_read(&error);

	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	free(error);
	return result;
}

static int open_view(struct diff *diff, int side)
{
	char *error;
	int result = report_view_open(&diff->views[side],
				      output_dir_store(diff->profiles[side], diff->stores[side]),
				      &diff->names, &error);

	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	free(error);
	return result;
}

/* The same frames may launch other kernels, which a table of anything else does not show. */
static int count_kernels(struct diff *diff)
{
	const double factor = diff->report.scale.factor;
	const struct source_frameworks none = {0};
	struct change_table *kernels;
	int result =
		change_table_create(diff->views[1].diff, CHANGE_BY_KERNEL, &none, factor, &kernels);

	if (result == 0)
		diff->report.nr_kernels = change_writer_count(kernels, factor);
	change_table_destroy(kernels);
	return result;
}

static int make_table(struct diff *diff)
{
	const struct source_frameworks frameworks = {
		diff->pair ? diff->pair->is_framework : NULL,
		diff->pair ? diff->pair->tree.nr_strings : 0,
	};
	int result = change_table_create(diff->views[1].diff, diff->by, &frameworks,
					 diff->report.scale.factor, &diff->table);

	if (result == 0 && diff->request.format == REPORT_TABLE)
		result = change_table_fold(diff->table);
	if (result == 0 && diff->request.format == REPORT_TABLE)
		result = count_kernels(diff);
	diff->report.table = diff->table;
	diff->report.by = by_names[diff->by];
	if (diff->by == CHANGE_BY_KERNEL && has_stalls(diff))
		diff->report.heading = "kernel > stall";
	diff->report.has_samples = report_planes_are_sampled(diff->names.planes);
	diff->views[1].changes = &diff->report;
	if (result < 0)
		log_error("%s", strerror(-result));
	return result;
}

static int write_shown(void *context, FILE *out)
{
	const struct diff *diff = context;

	return report_subject_write(&diff->views[1], out, &diff->request);
}

/* Writes the table on the terminal. */
static int show(struct diff *diff, const struct terminal *terminal)
{
	diff->request.form = (struct text_form){terminal->columns, terminal->has_colours};
	int result = pager_show_text(terminal, write_shown, diff);

	if (result < 0)
		log_error("standard output: %s", strerror(-result));
	return result;
}

static int save(struct diff *diff)
{
	struct report_view *view = &diff->views[1];
	char subtitle[256], scaled[64] = "", *error;
	struct terminal terminal;

	terminal_read(&terminal, STDOUT_FILENO);
	if (terminal.is_terminal && !diff->output_path && diff->request.format == REPORT_TABLE)
		return show(diff, &terminal);
	if (!diff->is_of_ranks && diff->report.scale.factor != 1)
		snprintf(scaled, sizeof(scaled), ", whose times count %.4f times",
			 diff->report.scale.factor);
	snprintf(subtitle, sizeof(subtitle), "%s against %s%s%s", view->diff->label_after,
		 view->diff->nr_others > 1 ? "the " : "", view->diff->label_before, scaled);
	diff->request.subtitle = subtitle;
	if (!diff->is_of_ranks)
		view->before_path = diff->views[0].given_path;
	int result = report_subject_save(view, diff->output_path, &diff->request, &error);
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result;
}

int verb_diff(const char *program, int argc, char **argv)
{
	struct diff *diff = calloc(1, sizeof(*diff));
	int result = 0;

	(void)program;
	if (!diff) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	diff->request.asked = 1u << REPORT_SUBJECT_DIFF;
	diff->names.lines = REPORT_LINES_OFF;
	int status = parse(diff, argc, argv);
	if (status == OPTION_LINE_GO) {
		result = read_classes();
		if (result == 0 && !diff->is_of_ranks)
			result = open_view(diff, 0);
		if (result == 0)
			result = open_view(diff, 1);
		if (result == 0)
			result = diff->is_of_ranks ? compare_ranks(diff) : compare_profiles(diff);
		if (result == 0)
			result = make_table(diff);
		if (result == 0)
			result = save(diff);
		status = result < 0 ? EXIT_FAILED : EXIT_OK;
	}
	report_view_close(&diff->views[1]);
	report_view_close(&diff->views[0]);
	change_table_destroy(diff->table);
	pair_tree_destroy(diff->pair);
	run_work_destroy(diff->runs[0]);
	run_work_destroy(diff->runs[1]);
	free(diff->labels[0]);
	free(diff->labels[1]);
	free(diff);
	return status;
}
