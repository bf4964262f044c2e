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
#include "cli/run/output_files.h"
#include "report/model/report_summary.h"
#include "report/view/report_subject.h"
#include "report/writers/clocks_writer.h"

struct report {
	struct report_request request;
	struct report_options names;
	enum report_subject_id rows;
	const char *profile_path, *output_path;
	bool files, strict, demangle_given, weight_given, format_given;
};

static const char usage[] =
	"Usage: flamegrid report [OPTION...] PROFILE\n"
	"Writes a report of PROFILE, a directory that `flamegrid run` made or a profile.db.\n"
	"\n"
	"  -f, --format FORMAT  folded (default), html, table, json, csv, or samples: those of\n"
	"                       host threads one by one, with their times (run --raw-samples on)\n"
	"  -b, --by KEYS        root frames, in this order: host, rank, gpu, context, stream, "
	"thread; of json and\n"
	"                       csv: within what each frame's ranks are counted\n"
	"  -u, --unit UNIT      of folded time: us (default) or ns\n"
	"  -w, --weight WEIGHT  of folded stacks: time (default), count or bytes\n"
	"      --memory WHICH   memory in place of GPU work, by bytes or count: peak (what lived "
	"at each "
	"device's\n"
	"                       peak), live (now; after the end: what was never freed), allocs or "
	"frees\n"
	"      --demangle HOW   C++ names: full (default, but simple in tables), simple or none\n"
	"      --planes LIST    what to show, with commas between: gpu (default), sync, overhead, "
	"um, modules,\n"
	"                       cpu, offcpu, calls, idle; or all; memory has --memory\n"
	"      --lines on|off   source lines in the names of frames (default: on); off merges a "
	"function's lines\n"
	"      --ranks          what each rank did on its GPUs, and which rank stands out: table\n"
	"                       (default), json or csv\n"
	"      --straggler      which rank the others wait for in collectives, and why: table "
	"(default), json\n"
	"                       or csv\n"
	"      --clocks         how each host's clocks stood to the aggregator's: table (default), "
	"json or\n"
	"                       csv; with samples: the host, the time on one clock and its bound\n"
	"      --top N          rows of the table\n"
	"      --collectives    calls of NCCL by communicator and function: table (default), "
	"json or csv\n"
	"      --rows WHAT      rows of csv: activities (default), calls, failures (failed "
	"calls),\n"
	"                       configurations (of kernel launches), collectives (each call of "
	"NCCL)\n"
	"                       or ranks (as --ranks)\n"
	"  -o, --output FILE    write there instead of to standard output\n"
	"      --files          write all files that `flamegrid run` leaves into PROFILE, a "
	"directory\n"
	"      --strict         exit with 3 if anything was lost, or may be missing (INCOMPLETE)\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 lost or incomplete (--strict).\n";

static const char *const units[] = {"us", "ns", NULL}, *const lines[] = {"on", "off", NULL};
static const char *const weights[] = {"time", "count", "bytes", NULL};
static const char *const memories[] = {"peak", "live", "allocs", "frees", NULL};
static const char *const demanglings[] = {"full", "simple", "none", NULL};

/* The place of a word in a list that ends with NULL, or -1 after saying what is wrong. */
static int find_word(const char *const *words, const char *option, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	char list[256] = "";
	for (int i = 0; words[i]; i++)
		strcat(strcat(list, " "), words[i]);
	log_error("--%s %s: must be one of%s", option, text, list);
	return -1;
}

/* The subject whose rows have that name, or -1 after saying what is wrong. */
static int find_rows(const char *text)
{
	const char *words[REPORT_SUBJECTS + 1] = {NULL};
	int ids[REPORT_SUBJECTS], count = 0;

	for (int id = 0; id < REPORT_SUBJECTS; id++) {
		if (strncmp(report_subjects[id].option, "--rows ", 7) != 0)
			continue;
		ids[count] = id;
		words[count++] = report_subjects[id].option + 7;
	}
	int place = find_word(words, "rows", text);
	return place < 0 ? -1 : ids[place];
}

static int parse_top(const char *text, uint32_t *top)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value == 0 || value > UINT32_MAX) {
		log_error("--top %s: must be a whole number from 1", text);
		return -1;
	}
	*top = (uint32_t)value;
	return 0;
}

enum long_option {
	OPTION_DEMANGLE = 256,
	OPTION_LINES,
	OPTION_TOP,
	OPTION_STRICT,
	OPTION_MEMORY,
	OPTION_PLANES,
	OPTION_ROWS,
	OPTION_RANKS,
	OPTION_COLLECTIVES,
	OPTION_STRAGGLER,
	OPTION_CLOCKS,
	OPTION_FILES,
};

/* 0; -1 after saying what is wrong. Memory's plane is shown in several ways, of which none is the plane. */
static int take_planes(struct report *report, const char *text)
{
	if (report_planes_parse(text, &report->names.planes) < 0) {
		log_error("--planes %s: must be all, or of gpu, sync, overhead, um, modules, cpu, "
			  "offcpu, calls, idle",
			  text);
		return -1;
	}
	if (!(report->names.planes & 1u << REPORT_PLANE_MEMORY))
		return 0;
	log_error("--planes %s: memory has an option of its own: --memory peak, live, allocs or "
		  "frees",
		  text);
	return -1;
}

/* 0; -1 after saying what is wrong. */
static int take_option(struct report *report, int option)
{
	int value = 0;

	switch (option) {
	case 'f':
		value = find_word(report_format_names, "format", optarg);
		report->request.format = (enum report_format)value;
		report->format_given = true;
		return value < 0 ? -1 : 0;
	case 'b':
		if (report_by_parse(optarg, &report->request.folded.by) == 0)
			return 0;
		log_error("--by %s: must be of host, rank, gpu, context, stream, thread, each once",
			  optarg);
		return -1;
	case 'u':
		value = find_word(units, "unit", optarg);
		report->request.folded.unit = (enum folded_unit)value;
		return value < 0 ? -1 : 0;
	case 'w':
		value = find_word(weights, "weight", optarg);
		report->request.folded.weight = (enum folded_weight)value;
		report->weight_given = true;
		return value < 0 ? -1 : 0;
	case OPTION_DEMANGLE:
		value = find_word(demanglings, "demangle", optarg);
		report->names.demangle = (enum demangle_mode)value;
		report->demangle_given = true;
		return value < 0 ? -1 : 0;
	case OPTION_LINES:
		value = find_word(lines, "lines", optarg);
		report->names.lines = (enum report_lines)value;
		return value < 0 ? -1 : 0;
	case OPTION_MEMORY:
		value = find_word(memories, "memory", optarg);
		report->names.memory = (enum report_memory)(REPORT_MEMORY_PEAK + value);
		return value < 0 ? -1 : 0;
	case OPTION_PLANES:
		return take_planes(report, optarg);
	case OPTION_ROWS:
		value = find_rows(optarg);
		report->rows = (enum report_subject_id)value;
		return value < 0 ? -1 : 0;
	case OPTION_TOP:
		return parse_top(optarg, &report->request.top);
	case OPTION_RANKS:
		report->request.asked |= 1u << REPORT_SUBJECT_RANKS;
		return 0;
	case 'o':
		report->output_path = optarg;
		return 0;
	case OPTION_COLLECTIVES:
		report->request.asked |= 1u << REPORT_SUBJECT_COLLECTIVES;
		return 0;
	case OPTION_STRAGGLER:
		report->request.asked |= 1u << REPORT_SUBJECT_STRAGGLER;
		return 0;
	case OPTION_CLOCKS:
		report->request.asked |= 1u << REPORT_SUBJECT_CLOCKS;
		return 0;
	case OPTION_FILES:
		report->files = true;
		return 0;
	case OPTION_STRICT:
		report->strict = true;
		return 0;
	default: /* getopt has said what is wrong */
		return -1;
	}
}

/* Memory takes no time. false after saying so. */
static bool set_memory_weight(struct report *report)
{
	static const char *const subtitles[] = {
		[REPORT_MEMORY_PEAK] = "memory at each device's peak",
		[REPORT_MEMORY_LIVE] = "memory that lives, or was never freed",
		[REPORT_MEMORY_ALLOCS] = "allocations of memory",
		[REPORT_MEMORY_FREES] = "frees of memory",
	};

	if (report->names.memory == REPORT_MEMORY_NONE)
		return true;
	if (report->names.planes) {
		log_error("--memory and --planes: one at a time");
		return false;
	}
	report->request.subtitle = subtitles[report->names.memory];
	if (!report->weight_given)
		report->request.folded.weight = FOLDED_BYTES;
	if (report->request.folded.weight != FOLDED_TIME)
		return true;
	log_error("--memory weighs by bytes or count, not by time");
	return false;
}

/* The format where none is given, and all that the subject may refuse. false after saying what is wrong. */
static bool set_subject(struct report *report)
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
	if (report_subject_check(request, &error) == 0)
		return true;
	log_error("%s", error ? error : "out of memory");
	free(error);
	return false;
}

/* 0: go on; otherwise the exit status, less one. */
static int parse_options(struct report *report, int argc, char **argv)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, 'f'},
		{"by", required_argument, NULL, 'b'},
		{"unit", required_argument, NULL, 'u'},
		{"weight", required_argument, NULL, 'w'},
		{"demangle", required_argument, NULL, OPTION_DEMANGLE},
		{"lines", required_argument, NULL, OPTION_LINES},
		{"memory", required_argument, NULL, OPTION_MEMORY},
		{"planes", required_argument, NULL, OPTION_PLANES},
		{"top", required_argument, NULL, OPTION_TOP},
		{"rows", required_argument, NULL, OPTION_ROWS},
		{"ranks", no_argument, NULL, OPTION_RANKS},
		{"collectives", no_argument, NULL, OPTION_COLLECTIVES},
		{"straggler", no_argument, NULL, OPTION_STRAGGLER},
		{"clocks", no_argument, NULL, OPTION_CLOCKS},
		{"files", no_argument, NULL, OPTION_FILES},
		{"output", required_argument, NULL, 'o'},
		{"strict", no_argument, NULL, OPTION_STRICT},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "f:b:u:w:o:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return EXIT_OK + 1;
		}
		if (take_option(report, option) < 0)
			return EXIT_USAGE + 1;
	}
	if (optind != argc - 1) {
		log_error("%s (flamegrid report --help)",
			  optind == argc ? "no profile given" : "more than one profile given");
		return EXIT_USAGE + 1;
	}
	if (report->files && (report->format_given || report->output_path ||
			      report->request.asked || report->rows)) {
		log_error("--files writes all files, and no other report");
		return EXIT_USAGE + 1;
	}
	if (!set_subject(report) || !set_memory_weight(report))
		return EXIT_USAGE + 1;
	report->profile_path = argv[optind];
	/* Whole C++ names make lines of a thousand characters, which no terminal shows. */
	if (!report->demangle_given && report->request.format == REPORT_TABLE)
		report->names.demangle = DEMANGLE_SIMPLE;
	return 0;
}

/* The exit status. The summary is the run's. */
static int write_files(const struct report *report)
{
	struct output_dir output = {.mark = -1};
	char *summary, *error = NULL;
	int status = EXIT_FAILED;
	bool empty;

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

/* What --strict is about. */
static bool is_lossy(const struct report_tree *tree)
{
	return tree->lost || tree->state == REPORT_INCOMPLETE;
}

int verb_report(const char *program, int argc, char **argv)
{
	struct report report = {0};
	struct report_view view;
	char store[PATH_MAX], line[REPORT_SUMMARY_SIZE], *error;
	int status = parse_options(&report, argc, argv);

	(void)program;
	if (status)
		return status - 1;
	if (report.files)
		return write_files(&report);
	status = EXIT_FAILED;
	const char *path = output_dir_store(report.profile_path, store);
	int result = report_view_open(&view, path, &report.names, &error);
	if (result == 0)
		result = report_subject_read(&view, report.request.asked, &error);
	if (result == 0)
		result = report_subject_save(&view, report.output_path, &report.request, &error);
	if (result < 0)
		log_error("%s", error ? error : "out of memory");
	else
		status = report.strict && is_lossy(view.tree) ? EXIT_LOSS : EXIT_OK;
	/* Folded text has no place for it, the other formats have it within. */
	if (status != EXIT_FAILED &&
	    (report.request.format == REPORT_FOLDED || report.request.format == REPORT_SAMPLES)) {
		if (report.request.format == REPORT_SAMPLES && view.profile->raw_samples == 0)
			log_notice("no sample was kept by itself (run --raw-samples on)");
		if (report.request.format == REPORT_SAMPLES &&
		    *clocks_writer_line(view.clocks, line, sizeof(line)))
			log_notice("each sample's time is its own host's; %s (--clocks)", line);
		fprintf(stderr, "flamegrid: %s\n",
			report_summary_line(view.tree, line, sizeof(line)));
		report_summary_ledger(stderr, view.tree, "flamegrid: ");
		report_summary_planes(stderr, view.tree, "flamegrid: ");
		if (report.names.memory != REPORT_MEMORY_NONE)
			report_summary_memory(stderr, view.tree, "flamegrid: ");
		if (report_summary_mixed(view.tree, line, sizeof(line)))
			fprintf(stderr, "flamegrid: %s\n", line);
	}
	free(error);
	report_view_close(&view);
	return status;
}
