#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "report/view/report_subject.h"

struct diff {
	const char *profile_path, *output_path;
	struct report_options names;
	struct report_request request;
	int32_t rank, against;
	bool rank_given;
};

static const char usage[] =
	"Usage: flamegrid diff [OPTION...] --rank N PROFILE\n"
	"Shows how a rank's work differs from that of the others.\n"
	"\n"
	"      --rank N         the rank\n"
	"      --against WHAT   what it is held against: median (default; of each stack, over all\n"
	"                       other ranks, 0 where one has none of it), or a rank's number\n"
	"  -f, --format FORMAT  folded (default): \"stack before after\", as other tools read it; "
	"or\n"
	"                       html: as wide as the rank's, red: more, blue: less than before\n"
	"  -u, --unit UNIT      of folded time: us (default) or ns\n"
	"  -w, --weight WEIGHT  time (default), count or bytes\n"
	"      --planes LIST    as of report; gpu (default)\n"
	"      --lines on|off   source lines in the names of frames (default: off)\n"
	"  -o, --output FILE    write there instead of to standard output\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum long_option { OPTION_RANK = 256, OPTION_AGAINST, OPTION_PLANES, OPTION_LINES };

static int wrong(const char *option, const char *text, const char *what)
{
	log_error("--%s %s: must be %s", option, text, what);
	return -1;
}

static int parse_rank(const char *text, int32_t *rank)
{
	char *end;

	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT32_MAX)
		return -1;
	*rank = (int32_t)value;
	return 0;
}

/* The place of a word in a list that ends with NULL; -1 after saying what is wrong. */
static int find_word(const char *option, const char *const *words, const char *what)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], optarg) == 0)
			return i;
	return wrong(option, optarg, what);
}

static int take_option(struct diff *diff, int option)
{
	static const char *const formats[] = {"folded", "html", NULL}, *const units[] = {"us", "ns",
											 NULL};
	static const char *const weights[] = {"time", "count", "bytes", NULL};
	static const char *const lines[] = {"on", "off", NULL};
	int value;

	switch (option) {
	case OPTION_RANK:
		diff->rank_given = true;
		return parse_rank(optarg, &diff->rank) ? wrong("rank", optarg, "a rank's number")
						       : 0;
	case OPTION_AGAINST:
		diff->against = REPORT_DIFF_MEDIAN;
		if (strcmp(optarg, "median") == 0 || parse_rank(optarg, &diff->against) == 0)
			return 0;
		return wrong("against", optarg, "median, or a rank's number");
	case 'f':
		value = find_word("format", formats, "folded or html");
		diff->request.format = (enum report_format)value;
		return value < 0 ? -1 : 0;
	case 'u':
		value = find_word("unit", units, "us or ns");
		diff->request.folded.unit = value == 1 ? FOLDED_NS : FOLDED_US;
		return value < 0 ? -1 : 0;
	case 'w':
		value = find_word("weight", weights, "time, count or bytes");
		diff->request.folded.weight = (enum folded_weight)value;
		return value < 0 ? -1 : 0;
	case OPTION_PLANES:
		if (report_planes_parse(optarg, &diff->names.planes) == 0 &&
		    !(diff->names.planes & 1u << REPORT_PLANE_MEMORY))
			return 0;
		return wrong("planes", optarg,
			     "all, or of gpu, sync, overhead, um, modules, cpu, "
			     "offcpu, calls, idle");
	case OPTION_LINES:
		value = find_word("lines", lines, "on or off");
		diff->names.lines = value == 0 ? REPORT_LINES_ON : REPORT_LINES_OFF;
		return value < 0 ? -1 : 0;
	case 'o':
		diff->output_path = optarg;
		return 0;
	default: /* getopt has said what is wrong */
		return -1;
	}
}

/* 0: go on; otherwise the exit status, less one. */
static int parse_options(struct diff *diff, int argc, char **argv)
{
	static const struct option options[] = {
		{"rank", required_argument, NULL, OPTION_RANK},
		{"against", required_argument, NULL, OPTION_AGAINST},
		{"format", required_argument, NULL, 'f'},
		{"unit", required_argument, NULL, 'u'},
		{"weight", required_argument, NULL, 'w'},
		{"planes", required_argument, NULL, OPTION_PLANES},
		{"lines", required_argument, NULL, OPTION_LINES},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *missing = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "f:u:w:o:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return EXIT_OK + 1;
		}
		if (take_option(diff, option) < 0)
			return EXIT_USAGE + 1;
	}
	if (optind != argc - 1)
		missing = optind == argc ? "no profile given" : "more than one profile given";
	else if (!diff->rank_given)
		missing = "no --rank given";
	else if (diff->rank == diff->against)
		missing = "a rank is held against itself";
	if (missing) {
		log_error("%s (flamegrid diff --help)", missing);
		return EXIT_USAGE + 1;
	}
	diff->profile_path = argv[optind];
	return 0;
}

/* 0 or -errno after saying what is wrong. */
static int compare(struct diff *diff, struct report_view *view)
{
	char subtitle[160], *error = NULL;
	int result = report_diff_create(view->tree, diff->rank, diff->against, &view->diff);

	if (result == 0) {
		snprintf(subtitle, sizeof(subtitle), "%s against the %s", view->diff->label_after,
			 view->diff->label_before);
		diff->request.subtitle = subtitle;
		result = report_subject_save(view, diff->output_path, &diff->request, &error);
	}
	if (result == -ENOENT && !view->diff)
		log_error("the profile has nothing of rank %d, or of what it is held against "
			  "(flamegrid report --by rank)",
			  diff->rank);
	else if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result;
}

int verb_diff(const char *program, int argc, char **argv)
{
	struct diff diff = {.against = REPORT_DIFF_MEDIAN,
			    .request = {.asked = 1u << REPORT_SUBJECT_DIFF},
			    .names = {.lines = REPORT_LINES_OFF}};
	struct report_view view;
	char store[PATH_MAX], *error;
	int stop = parse_options(&diff, argc, argv);

	(void)program;
	if (stop)
		return stop - 1;
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
