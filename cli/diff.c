#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "options/option_line.h"
#include "report/view/report_subject.h"

#define MEDIAN  ((uint32_t)REPORT_DIFF_MEDIAN)
#define NO_RANK (MEDIAN - 1)

#define RANKS_SIZE 256u

struct diff {
	const char *profile_path, *output_path;
	struct report_options names;
	struct report_request request;
	int32_t rank, against;
};

/* OPTION_LINE_GO; otherwise the exit status. */
static int parse(struct diff *diff, int argc, char **argv)
{
	uint32_t rank = NO_RANK, against = MEDIAN;
	const struct option_target targets[] = {
		{"rank", .number = &rank, .most = INT32_MAX},
		{"against", .number = &against, .most = INT32_MAX, .first = MEDIAN},
		{"format", .choice = &diff->request.format, .first = REPORT_FOLDED},
		{"unit", .choice = &diff->request.folded.unit, .first = FOLDED_NS},
		{"weight", .choice = &diff->request.folded.weight, .first = FOLDED_TIME},
		{"planes", .take = report_planes_take, .context = &diff->names.planes},
		{"lines", .choice = &diff->names.lines, .first = REPORT_LINES_ON},
		{"output", .text = &diff->output_path, .least = 1},
	};
	const struct option_table *table = &option_table_diff;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	if (rank == NO_RANK)
		return option_line_refuse(table, "--rank is missing");
	if (rank == against)
		return option_line_refuse(table, "a rank cannot be compared with itself");
	diff->rank = (int32_t)rank;
	diff->against = (int32_t)against;
	diff->profile_path = argv[optind];
	return OPTION_LINE_GO;
}

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

/* Returns 0, or -errno after an error. */
static int compare(struct diff *diff, struct report_view *view)
{
	char subtitle[160], ranks[RANKS_SIZE], *error = NULL;

	if (view->ranks && view->ranks->has_jobs) {
		log_error("%s has ranks of several jobs: compare those of one job, in its profile",
			  diff->profile_path);
		return -EINVAL;
	}
	int result = report_diff_create(view->tree, diff->rank, diff->against, &view->diff);

	if (result == 0) {
		snprintf(subtitle, sizeof(subtitle), "%s against the %s", view->diff->label_after,
			 view->diff->label_before);
		diff->request.subtitle = subtitle;
		result = report_subject_save(view, diff->output_path, &diff->request, &error);
	}
	if (result == -ENOENT && !view->diff)
		log_error(
			"%s has nothing of rank %d, or of the ranks to compare with; its ranks: %s "
			"(flamegrid report %s --ranks)",
			diff->profile_path, diff->rank, list_ranks(view->ranks, ranks),
			diff->profile_path);
	else if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result;
}

int verb_diff(const char *program, int argc, char **argv)
{
	struct diff diff = {.request = {.asked = 1u << REPORT_SUBJECT_DIFF},
			    .names = {.lines = REPORT_LINES_OFF}};
	struct report_view view;
	char store[PATH_MAX], *error;
	int status = parse(&diff, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	int result = report_view_open(&view, output_dir_store(diff.profile_path, store),
				      &diff.names, &error);
	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	else
		result = compare(&diff, &view);
	free(error);
	report_view_close(&view);
	return result < 0 ? EXIT_FAILED : EXIT_OK;
}
