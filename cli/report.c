#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/run/output_files.h"
#include "cli/run/report_view.h"
#include "report/model/report_summary.h"
#include "report/writers/clocks_writer.h"

struct report {
	struct report_view_options view;
	struct report_options names;
	const char *profile_path, *output_path;
	bool files, strict, demangle_given, weight_given, format_given, ranks, collectives,
		straggler, clocks;
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
	"      --collectives    calls of NCCL by communicator and function: a table of their own, "
	"and in json\n"
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

struct word {
	const char *text;
	int value;
};

static const struct word formats[] = {{"folded", REPORT_FOLDED},
				      {"html", REPORT_HTML},
				      {"table", REPORT_TABLE},
				      {"json", REPORT_JSON},
				      {"csv", REPORT_CSV},
				      {"samples", REPORT_SAMPLES},
				      {0}};
static const struct word units[] = {{"us", FOLDED_US}, {"ns", FOLDED_NS}, {0}};
static const struct word weights[] = {
	{"time", FOLDED_TIME}, {"count", FOLDED_COUNT}, {"bytes", FOLDED_BYTES}, {0}};
static const struct word memories[] = {{"peak", REPORT_MEMORY_PEAK},
				       {"live", REPORT_MEMORY_LIVE},
				       {"allocs", REPORT_MEMORY_ALLOCS},
				       {"frees", REPORT_MEMORY_FREES},
				       {0}};
static const struct word lines[] = {{"on", REPORT_LINES_ON}, {"off", REPORT_LINES_OFF}, {0}};
static const struct word rows[] = {{"activities", REPORT_ROWS_ACTIVITIES},
				   {"calls", REPORT_ROWS_CALLS},
				   {"failures", REPORT_ROWS_FAILURES},
				   {"configurations", REPORT_ROWS_CONFIGURATIONS},
				   {"collectives", REPORT_ROWS_COLLECTIVES},
				   {"ranks", REPORT_ROWS_RANKS},
				   {0}};
static const struct word demanglings[] = {
	{"full", DEMANGLE_FULL}, {"simple", DEMANGLE_SIMPLE}, {"none", DEMANGLE_NONE}, {0}};

/* The value of one of a list's words, or -1 after saying what is wrong. */
static int word_value(const struct word *words, const char *option, const char *text)
{
	for (const struct word *word = words; word->text; word++)
		if (strcmp(word->text, text) == 0)
			return word->value;
	fprintf(stderr, "flamegrid: report: --%s %s: must be one of", option, text);
	for (const struct word *word = words; word->text; word++)
		fprintf(stderr, " %s", word->text);
	fputc('\n', stderr);
	return -1;
}

static int parse_top(const char *text, uint32_t *top)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value == 0 || value > UINT32_MAX) {
		fprintf(stderr, "flamegrid: report: --top %s: must be a whole number from 1\n",
			text);
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
		fprintf(stderr,
			"flamegrid: report: --planes %s: must be all, or of gpu, sync, overhead, "
			"um, modules, cpu, offcpu, calls, idle\n",
			text);
		return -1;
	}
	if (!(report->names.planes & 1u << REPORT_PLANE_MEMORY))
		return 0;
	fprintf(stderr,
		"flamegrid: report: --planes %s: memory has an option of its own: --memory peak, "
		"live, allocs or frees\n",
		text);
	return -1;
}

/* 0; -1 after saying what is wrong. */
static int take_option(struct report *report, int option)
{
	int value = 0;

	switch (option) {
	case 'f':
		value = word_value(formats, "format", optarg);
		report->view.format = (enum report_format)value;
		report->format_given = true;
		return value < 0 ? -1 : 0;
	case 'b':
		if (report_by_parse(optarg, &report->view.folded.by) == 0)
			return 0;
		fprintf(stderr,
			"flamegrid: report: --by %s: must be of host, rank, gpu, context, stream, "
			"thread, "
			"each once\n",
			optarg);
		return -1;
	case 'u':
		value = word_value(units, "unit", optarg);
		report->view.folded.unit = (enum folded_unit)value;
		return value < 0 ? -1 : 0;
	case 'w':
		value = word_value(weights, "weight", optarg);
		report->view.folded.weight = (enum folded_weight)value;
		report->weight_given = true;
		return value < 0 ? -1 : 0;
	case OPTION_DEMANGLE:
		value = word_value(demanglings, "demangle", optarg);
		report->names.demangle = (enum demangle_mode)value;
		report->demangle_given = true;
		return value < 0 ? -1 : 0;
	case OPTION_LINES:
		value = word_value(lines, "lines", optarg);
		report->names.lines = (enum report_lines)value;
		return value < 0 ? -1 : 0;
	case OPTION_MEMORY:
		value = word_value(memories, "memory", optarg);
		report->names.memory = (enum report_memory)value;
		return value < 0 ? -1 : 0;
	case OPTION_PLANES:
		return take_planes(report, optarg);
	case OPTION_ROWS:
		value = word_value(rows, "rows", optarg);
		report->view.rows = (enum report_rows)value;
		return value < 0 ? -1 : 0;
	case OPTION_TOP:
		return parse_top(optarg, &report->view.top);
	case OPTION_RANKS:
		report->ranks = true;
		return 0;
	case 'o':
		report->output_path = optarg;
		return 0;
	case OPTION_COLLECTIVES:
		report->collectives = true;
		return 0;
	case OPTION_STRAGGLER:
		report->straggler = true;
		return 0;
	case OPTION_CLOCKS:
		report->clocks = true;
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
		fputs("flamegrid: report: --memory and --planes: one at a time\n", stderr);
		return false;
	}
	report->view.subtitle = subtitles[report->names.memory];
	if (!report->weight_given)
		report->view.folded.weight = FOLDED_BYTES;
	if (report->view.folded.weight != FOLDED_TIME)
		return true;
	fputs("flamegrid: report: --memory weighs by bytes or count, not by time\n", stderr);
	return false;
}

/* Whichever format is asked for, of ranks. false after saying what is wrong. */
static bool set_ranks(struct report *report)
{
	enum report_format format = report->format_given ? report->view.format : REPORT_TABLE;
	bool rows_given = report->view.rows != REPORT_ROWS_ACTIVITIES &&
			  report->view.rows != REPORT_ROWS_RANKS;

	if (!report->ranks)
		return true;
	if ((format != REPORT_TABLE && format != REPORT_JSON && format != REPORT_CSV) ||
	    rows_given || report->collectives || report->names.memory != REPORT_MEMORY_NONE ||
	    report->names.planes || report->view.folded.by.nr_dimensions) {
		fputs("flamegrid: report: --ranks is for --format table, json or csv, and nothing "
		      "else\n",
		      stderr);
		return false;
	}
	report->view.rows = format == REPORT_CSV ? REPORT_ROWS_RANKS : REPORT_ROWS_ACTIVITIES;
	report->view.format = format == REPORT_TABLE  ? REPORT_RANKS_TABLE
			      : format == REPORT_JSON ? REPORT_RANKS_JSON
						      : REPORT_CSV;
	return true;
}

/* Likewise, of who is late. */
static bool set_straggler(struct report *report)
{
	enum report_format format = report->format_given ? report->view.format : REPORT_TABLE;

	if (!report->straggler)
		return true;
	if ((format != REPORT_TABLE && format != REPORT_JSON && format != REPORT_CSV) ||
	    report->view.rows != REPORT_ROWS_ACTIVITIES || report->ranks || report->collectives ||
	    report->clocks || report->names.memory != REPORT_MEMORY_NONE || report->names.planes ||
	    report->view.folded.by.nr_dimensions) {
		fputs("flamegrid: report: --straggler is for --format table, json or csv, and "
		      "nothing else\n",
		      stderr);
		return false;
	}
	report->view.format = format == REPORT_TABLE  ? REPORT_STRAGGLER_TABLE
			      : format == REPORT_JSON ? REPORT_STRAGGLER_JSON
						      : REPORT_STRAGGLER_CSV;
	return true;
}

/* What is asked for, of clocks. false after saying what is wrong. */
static bool set_clocks(struct report *report)
{
	enum report_format format = report->format_given ? report->view.format : REPORT_TABLE;

	if (!report->clocks)
		return true;
	if (format == REPORT_SAMPLES) {
		report->view.clocks = true;
		return true;
	}
	if ((format != REPORT_TABLE && format != REPORT_JSON && format != REPORT_CSV) ||
	    report->ranks || report->collectives || report->view.rows != REPORT_ROWS_ACTIVITIES ||
	    report->names.memory != REPORT_MEMORY_NONE || report->names.planes ||
	    report->view.folded.by.nr_dimensions) {
		fputs("flamegrid: report: --clocks is for --format table, json, csv or samples, "
		      "and nothing else\n",
		      stderr);
		return false;
	}
	report->view.format = format == REPORT_TABLE  ? REPORT_CLOCKS_TABLE
			      : format == REPORT_JSON ? REPORT_CLOCKS_JSON
						      : REPORT_CLOCKS_CSV;
	return true;
}

/* false after saying what is wrong. */
static bool set_collectives(struct report *report)
{
	enum report_format format = report->view.format;

	if (report->view.rows == REPORT_ROWS_COLLECTIVES)
		report->collectives = true;
	else if (report->collectives && format != REPORT_TABLE && format != REPORT_JSON) {
		fputs("flamegrid: report: --collectives is for --format table and json; csv has "
		      "--rows collectives\n",
		      stderr);
		return false;
	}
	return true;
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
		fprintf(stderr, "flamegrid: report: %s (flamegrid report --help)\n",
			optind == argc ? "no profile given" : "more than one profile given");
		return EXIT_USAGE + 1;
	}
	if (report->files && (report->format_given || report->output_path || report->ranks ||
			      report->straggler || report->clocks || report->collectives)) {
		fputs("flamegrid: report: --files writes all files, and no other report\n", stderr);
		return EXIT_USAGE + 1;
	}
	if (!set_straggler(report) || !set_ranks(report) || !set_clocks(report))
		return EXIT_USAGE + 1;
	if (report->view.rows != REPORT_ROWS_ACTIVITIES && report->view.format != REPORT_CSV) {
		fprintf(stderr, "flamegrid: report: --rows is for --format csv\n");
		return EXIT_USAGE + 1;
	}
	if (!set_collectives(report))
		return EXIT_USAGE + 1;
	if (!set_memory_weight(report))
		return EXIT_USAGE + 1;
	if (report->view.format == REPORT_SAMPLES &&
	    (report->names.memory != REPORT_MEMORY_NONE || report->view.folded.by.nr_dimensions)) {
		fprintf(stderr, "flamegrid: report: --by and --memory are not for samples\n");
		return EXIT_USAGE + 1;
	}
	report->profile_path = argv[optind];
	/* Whole C++ names make lines of a thousand characters, which no terminal shows. */
	if (!report->demangle_given && report->view.format == REPORT_TABLE)
		report->names.demangle = DEMANGLE_SIMPLE;
	return 0;
}

/* The store behind a path, which may be the directory that holds it. */
static const char *store_of(const char *path, char buffer[static PATH_MAX])
{
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return path;
	snprintf(buffer, PATH_MAX, "%s/" OUTPUT_STORE, path);
	return buffer;
}

/* 0 or -errno after saying what is wrong. */
static int write_report(const struct report *report, const struct report_view *view)
{
	const char *path = report->output_path ? report->output_path : "standard output";
	FILE *out = report->output_path ? fopen(report->output_path, "we") : stdout;
	int result = out ? report_view_write(view, out, &report->view) : -errno;

	if (out && (report->output_path ? fclose(out) : fflush(out)) != 0 && result == 0)
		result = -errno;
	if (result < 0)
		fprintf(stderr, "flamegrid: report: %s: %s\n", path, strerror(-result));
	return result;
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
		fprintf(stderr, "flamegrid: report: %s: %s\n", report->profile_path,
			strerror(ENAMETOOLONG));
	else if (output_files_write(&output, &report->names, false, &empty, &summary, &error) < 0)
		fprintf(stderr, "flamegrid: report: %s\n", error ? error : "out of memory");
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
	const char *path = store_of(report.profile_path, store);
	int result = report_view_open(&view, path, &report.names, &error);
	if (result == 0 && report.collectives)
		result = report_view_read_collectives(&view, path, &report.names, &error);
	if (result == 0 && report.straggler)
		result = report_view_read_straggler(&view, path, &error);
	if (result == 0 && report.clocks)
		result = report_view_refine_clocks(&view, path, &error);
	if (result < 0)
		fprintf(stderr, "flamegrid: report: %s\n", error ? error : "out of memory");
	else if (write_report(&report, &view) == 0)
		status = report.strict && is_lossy(view.tree) ? EXIT_LOSS : EXIT_OK;
	/* Folded text has no place for it, the other formats have it within. */
	if (status != EXIT_FAILED &&
	    (report.view.format == REPORT_FOLDED || report.view.format == REPORT_SAMPLES)) {
		if (report.view.format == REPORT_SAMPLES && view.profile->raw_samples == 0)
			fputs("flamegrid: no sample was kept by itself (run --raw-samples on)\n",
			      stderr);
		if (report.view.format == REPORT_SAMPLES &&
		    *clocks_writer_line(view.clocks, line, sizeof(line)))
			fprintf(stderr,
				"flamegrid: each sample's time is its own host's; %s (--clocks)\n",
				line);
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
