#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/base/output_dir.h"
#include "cli/base/pager.h"
#include "cli/base/verbs.h"
#include "options/option_line.h"
#include "report/compare/check_writer.h"
#include "report/names/clean_text.h"
#include "report/view/report_view.h"

#define EXIT_REGRESSED 1
#define EXIT_ERROR     2
#define EXIT_NOISY     3

#define MAX_REGRESS_USUAL 0.01
#define MIN_SHARE_USUAL   0.05

struct check {
	const char **paths; /* owns; baselines, then profiles */
	uint32_t nr_paths, nr_before;
	struct check_question question;
	enum check_format format;
	const char *output_path;
	struct terminal terminal; /* standard output */
	/* own, all */
	struct run_work **runs;
	char **labels;
	struct check_result *result;
};

static int take_baseline(void *context, const char *name, const char *value, char **error)
{
	struct check *check = context;

	if (!*value)
		return error_text_set(error, -EINVAL, "--%s: the path is empty", name);
	if (array_append(&check->paths, &check->nr_before, &value, sizeof(value)))
		return error_text_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* Takes "1%" or "1" as 0.01. */
static int take_percent(void *context, const char *name, const char *value, char **error)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (strcmp(end, "%") != 0 && *end) || !isfinite(percent) || percent < 0)
		return error_text_set(error, -EINVAL, "--%s %s: must be a percentage such as 1%%",
				      name, value);
	*(double *)context = percent / 100;
	return 0;
}

static int parse(struct check *check, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"baseline", .take = take_baseline, .context = check},
		{"max-regress", .take = take_percent, .context = &check->question.max_regress},
		{"min-share", .take = take_percent, .context = &check->question.min_share},
		{"format", .choice = &check->format},
		{"output", .text = &check->output_path, .least = 1},
	};
	const struct option_table *table = &option_table_check;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	if (!check->nr_before)
		return option_line_lacks(table, "--baseline is missing");
	if (check->question.min_share > 1)
		return option_line_refuse(table, "--min-share must be 100%% at most");
	if (check->question.max_regress <= 0)
		return option_line_refuse(table, "--max-regress must be above 0");
	check->nr_paths = check->nr_before;
	for (int i = optind; i < argc; i++)
		if (array_append(&check->paths, &check->nr_paths, &argv[i], sizeof(*argv))) {
			log_error("out of memory");
			return EXIT_ERROR;
		}
	check->question.nr_before = check->nr_before;
	check->question.nr_after = check->nr_paths - check->nr_before;
	return OPTION_LINE_GO;
}

static int load(struct check *check, uint32_t run)
{
	static const struct report_options options = {
		.lines = REPORT_LINES_ON,
		.leaves_most = 1, /* the tree is needed for its ledger and its lines */
	};
	struct report_view view;
	char store[PATH_MAX], *error = NULL;
	int result = report_view_open(&view, output_dir_store(check->paths[run], store), &options,
				      &error);

	if (result == 0) {
		result = run_work_create(view.profile, view.tree, view.store_path,
					 &check->runs[run], &error);
		if (result < 0 && !error)
			report_view_explain(&view, result, &error);
	}
	if (result == 0) {
		check->labels[run] = clean_text_of(check->paths[run], strlen(check->paths[run]));
		result = check->labels[run] ? 0 : -ENOMEM;
	}
	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	free(error);
	report_view_close(&view);
	return result;
}

static void leave_out(struct check *check, uint32_t run)
{
	free(check->labels[run]);
	run_work_destroy(check->runs[run]);
	check->nr_paths--;
	for (uint32_t i = run; i < check->nr_paths; i++) {
		check->paths[i] = check->paths[i + 1];
		check->labels[i] = check->labels[i + 1];
		check->runs[i] = check->runs[i + 1];
	}
	check->labels[check->nr_paths] = NULL;
	check->runs[check->nr_paths] = NULL;
}

/* Copies of a run on one side would make runs look more alike than they are. */
static void leave_out_copies(struct check *check, uint32_t from, uint32_t *nr)
{
	for (uint32_t i = from + 1; i < from + *nr; i++)
		for (uint32_t j = from; j < i; j++) {
			if (!run_work_equals(check->runs[i], check->runs[j]))
				continue;
			log_notice("%s has the work of %s to the nanosecond: both count as one run",
				   check->labels[i], check->labels[j]);
			leave_out(check, i--);
			--*nr;
			break;
		}
}

static int load_all(struct check *check)
{
	int result = 0;

	check->runs = calloc(check->nr_paths, sizeof(*check->runs));
	check->labels = calloc(check->nr_paths, sizeof(*check->labels));
	if (!check->runs || !check->labels) {
		log_error("out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < check->nr_paths && result == 0; i++)
		result = load(check, i);
	if (result == 0) {
		leave_out_copies(check, 0, &check->question.nr_before);
		leave_out_copies(check, check->question.nr_before, &check->question.nr_after);
	}
	check->question.runs = (const struct run_work *const *)check->runs;
	return result;
}

/* Returns whether the output would replace one of the profiles. */
static bool is_profile(const struct check *check)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < check->nr_paths && check->output_path; i++)
		if (output_file_is_of_store(check->output_path,
					    output_dir_store(check->paths[i], path)))
			return true;
	return false;
}

struct shown {
	const struct check_report *report;
	struct text_form form;
};

static int write_shown(void *context, FILE *out)
{
	const struct shown *shown = context;

	return check_writer_write(out, shown->report, CHECK_TEXT, &shown->form);
}

static int save(struct check *check)
{
	if (is_profile(check)) {
		log_error("%s: the profile itself, which a report must not replace",
			  check->output_path);
		return -EEXIST;
	}
	const struct check_report report = {check->result, &check->question,
					    (const char *const *)check->labels};
	struct shown shown = {&report, {check->terminal.columns, check->terminal.has_colours}};
	struct output_file file;
	int result = 0;

	if (check->output_path) {
		result = output_file_open(&file, check->output_path, OUTPUT_FILE_FOLLOWS, 0666);
		if (result == 0)
			result = output_file_close(&file, check_writer_write(file.stream, &report,
									     check->format, NULL));
	} else if (check->terminal.is_terminal && check->format == CHECK_TEXT) {
		result = pager_show_text(&check->terminal, write_shown, &shown);
	} else {
		result = check_writer_write(stdout, &report, check->format, NULL);
	}
	if (result < 0)
		log_error("%s: %s", check->output_path ? check->output_path : "standard output",
			  strerror(-result));
	return result;
}

static int judge(struct check *check)
{
	char *error = NULL;
	int result = load_all(check);

	if (result == 0) {
		result = run_check_create(&check->question, &check->result, &error);
		if (result < 0)
			log_error("%s", error ? error : strerror(-result));
		free(error);
	}
	if (result == 0)
		result = save(check);
	if (result < 0)
		return EXIT_ERROR;
	return check->result->verdict == CHECK_REGRESSED ? EXIT_REGRESSED
	       : check->result->verdict == CHECK_NOISY   ? EXIT_NOISY
							 : EXIT_OK;
}

int verb_check(const char *program, int argc, char **argv)
{
	struct check check = {
		.question = {.max_regress = MAX_REGRESS_USUAL, .min_share = MIN_SHARE_USUAL}};
	int status = parse(&check, argc, argv);

	(void)program;
	terminal_read(&check.terminal, STDOUT_FILENO);
	if (status == OPTION_LINE_GO)
		status = judge(&check);
	run_check_destroy(check.result);
	for (uint32_t i = 0; check.runs && i < check.nr_paths; i++)
		run_work_destroy(check.runs[i]);
	for (uint32_t i = 0; check.labels && i < check.nr_paths; i++)
		free(check.labels[i]);
	free(check.runs);
	free(check.labels);
	free(check.paths);
	/* 1 would say that the program got slower. */
	if (status == EXIT_OK && (fflush(stdout) || ferror(stdout))) {
		log_error("standard output: %s", strerror(errno ? errno : EIO));
		return EXIT_ERROR;
	}
	return status;
}
