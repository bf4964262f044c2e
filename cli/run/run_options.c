#include "run_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "node-agent/watch/bpf_options.h"
#include "proto/options/record_options.h"

static const char usage[] =
	"Usage: flamegrid run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"Runs COMMAND and writes a profile of its GPU work. Its exit status, signals and streams "
	"are its own.\n"
	"\n"
	"  -o, --output DIR     where profile.db, gpu.folded and flame.html go "
	"(default: " RUN_OUTPUT ",\n"
	"                       of several ranks " RUN_OUTPUT "-%j, behind srun -JOB.STEP); an "
	"earlier profile\n"
	"                       there is moved to DIR.2, DIR.3 ...;\n"
	"                       %j the job, %h the host, %r the rank, %p the process, %q{NAME} a "
	"variable\n"
	"      --title TEXT     what the profile is called in reports (default: the command)\n"
	"      --task PID       of this process, not of COMMAND, are CPU samples, waits and host "
	"calls (flamegrid step)\n"
	"      --interface NAME of several ranks: the aggregator listens on this network interface "
	"alone\n"
	"      --stacks MODE[,NATIVE[,PYTHON]]\n"
	"                       what a launch's stack holds: leaf (default: native frames down to "
	"the first\n"
	"                       Python function, then Python's), full, native, python or none; and "
	"at "
	"most\n"
	"                       how many frames of each (default: 96 and 128)\n"
	"      --stack-source guest|uprobe|auto\n"
	"                       who walks launch stacks: the job's processes (default, and auto), "
	"or the kernel\n"
	"                       (docs/stacks.md; takes root or CAP_BPF and "
	"CAP_PERFMON)\n"
	"      --lines on|off   source lines in the names of frames (default: on)\n"
	"      --inlines        find source lines and inlined functions of native code, too: "
	"slower\n"
	"      --symbol-cache DIR\n"
	"                       where symbol tables are kept for the next time, or off\n"
	"      --graphs nodes|launch\n"
	"                       CUDA graphs as the nodes that run (default), or as one record a "
	"launch: "
	"cheaper,\n"
	"                       without names\n"
	"      --record LIST    record more than GPU work, with commas between: sync (host waits), "
	"overhead,\n"
	"                       um (unified memory), modules, memory, nvtx; or all\n"
	"      --collectives on|off\n"
	"                       calls of NCCL, each with the launch that carries it (default: on)\n"
	"      --nvtx           NVTX ranges as frames and names of streams: short for --record "
	"nvtx\n"
	"      --nvtx-digits auto|keep|mask\n"
	"                       numbers in the names of ranges: kept while few names differ in "
	"them "
	"alone\n"
	"                       (default), kept, or all #\n"
	"      --api LIST       count and time calls of CUDA's API: names of functions with commas "
	"between, * in\n"
	"                       them for any text (cudaMalloc*,cuLaunchKernel); runtime, driver or "
	"all\n"
	"      --delay TIME     begin to capture later; to end earlier:\n"
	"      --duration TIME\n"
	"      --duty ON/PERIOD capture the first ON of each PERIOD of the clock, such as 1s/30s, "
	"on all "
	"nodes at once\n"
	"      --capture-range profiler|control|nvtx:NAME\n"
	"                       capture between cudaProfilerStart and cudaProfilerStop, between "
	"`flamegrid\n"
	"                       control start` and `stop`, or within NVTX ranges NAME\n"
	"      --every-steps N  of such ranges one in N, the same on all ranks: the N-th, the "
	"2N-th ...\n"
	"      --step-range NAME  what a step is: NVTX ranges NAME (default: cudaProfilerStart to "
	"Stop)\n"
	"      --cpu-hz N       sample the CPUs N times a second: what the job's threads do on "
	"them "
	"(flamegrid(1),\n"
	"                       HOST THREADS; takes root or CAP_BPF and CAP_PERFMON)\n"
	"      --off-cpu TIME   record where the job's threads wait, for waits of this length or "
	"more, "
	"such as 1ms\n"
	"      --stack-copy KIB how much of a thread's stack is copied with each sample, to be "
	"walked "
	"without frame\n"
	"                       pointers: a multiple of 4, 32 at most (default: 32)\n"
	"      --host-calls on|off|auto\n"
	"                       time the job's calls of CUDA and NCCL from the kernel's side and "
	"load no guest: no GPU times;\n"
	"                       auto: beside the guest, where it cannot capture (default: off)\n"
	"      --bpf-buffer KIB room for all of these between two reads (default: half a second "
	"of samples,\n"
	"                      8192 to 131072; with calls 65536 at least)\n"
	"      --raw-samples on|off\n"
	"                       keep each of these samples by itself, too, for report --format "
	"samples\n"
	"                       (default: off)\n"
	"      --aggregator ENDPOINT\n"
	"                       send to the aggregator of the site that listens there, which keeps "
	"the profile,\n"
	"                       tcp://HOST:PORT or ipc://PATH; none: to one of this job's own\n"
	"      --keys FILE      the keys of that aggregator's agents (flamegrid keygen)\n"
	"      --insecure       without keys: allow one that other machines can reach, "
	"unprotected\n"
	"      --no-config      leave /etc/flamegrid.conf and $FLAMEGRID_CONFIG alone, which have "
	"defaults for\n"
	"                       these options\n"
	"      --agent PATH     use the agent that listens on this socket; it and its aggregator "
	"keep the profile\n"
	"      --node-name NAME what this host is called in the profile (default: Slurm's name, "
	"else the host's)\n"
	"      --devices FILE   the GPUs of this host, in place of what hwloc sees\n"
	"      --dormant        load the guest and capture nothing, at no cost, until `flamegrid "
	"attach --pid PID`\n"
	"                       (or, with --agent, `flamegrid control start`)\n"
	"      --strict         if profiling cannot start, do not run COMMAND and exit with 125\n"
	"  -q, --quiet          print nothing but warnings\n"
	"      --log-level L    print messages from this level on: error, warning, notice "
	"(default),\n"
	"                       info or debug\n"
	"  -v                   --log-level debug\n"
	"  -h, --help           this text\n"
	"\n"
	"Another injection library in CUDA_INJECTION64_PATH is left alone: COMMAND runs with it, "
	"unprofiled.\n"
	"Exit status: COMMAND's; 125 a failure of flamegrid's own, 126 COMMAND could not be "
	"started, 127 not found.\n";

enum long_option {
	OPTION_CAPTURE = 256, /* one of capture_options.h */
	OPTION_BPF,           /* one of bpf_options.h */
	OPTION_STACK_SOURCE,
	OPTION_LOG_LEVEL,
	OPTION_RAW_SAMPLES,
	OPTION_LINES,
	OPTION_INLINES,
	OPTION_NVTX,
	OPTION_SYMBOL_CACHE,
	OPTION_AGENT,
	OPTION_NODE_NAME,
	OPTION_DEVICES,
	OPTION_STRICT,
	OPTION_DORMANT,
	OPTION_INTERFACE,
	OPTION_TITLE,
	OPTION_TASK,
	OPTION_AGGREGATOR,
	OPTION_KEYS,
	OPTION_INSECURE,
	OPTION_NO_CONFIG
};

static int take_lines(struct run_options *options, const char *text, char **error)
{
	bool off = strcmp(text, "off") == 0;

	options->names.lines = off ? REPORT_LINES_OFF : REPORT_LINES_ON;
	if (off || strcmp(text, "on") == 0)
		return 0;
	return error_text_set(error, -EINVAL, "--lines %s: must be on or off", text);
}

static int take_stack_source(struct run_options *options, const char *text, char **error)
{
	if (stack_source_parse(text, &options->stack_source) == 0)
		return 0;
	return error_text_set(error, -EINVAL, "--stack-source %s: must be guest, uprobe or auto",
			      text);
}

static int take_raw_samples(struct run_options *options, const char *text, char **error)
{
	options->raw_samples = strcmp(text, "on") == 0;
	if (options->raw_samples || strcmp(text, "off") == 0)
		return 0;
	return error_text_set(error, -EINVAL, "--raw-samples %s: must be on or off", text);
}

/* Says what is wrong. */
static bool taken(int result, char *error)
{
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result == 0;
}

static const struct option option_table[] = {
	{"output", required_argument, NULL, 'o'},
	{"stacks", required_argument, NULL, OPTION_CAPTURE},
	{"graphs", required_argument, NULL, OPTION_CAPTURE},
	{"record", required_argument, NULL, OPTION_CAPTURE},
	{"nvtx", no_argument, NULL, OPTION_NVTX},
	{"nvtx-digits", required_argument, NULL, OPTION_CAPTURE},
	{"api", required_argument, NULL, OPTION_CAPTURE},
	{"collectives", required_argument, NULL, OPTION_CAPTURE},
	{"delay", required_argument, NULL, OPTION_CAPTURE},
	{"duration", required_argument, NULL, OPTION_CAPTURE},
	{"duty", required_argument, NULL, OPTION_CAPTURE},
	{"capture-range", required_argument, NULL, OPTION_CAPTURE},
	{"step-range", required_argument, NULL, OPTION_CAPTURE},
	{"every-steps", required_argument, NULL, OPTION_CAPTURE},
	{"cpu-hz", required_argument, NULL, OPTION_BPF},
	{"off-cpu", required_argument, NULL, OPTION_BPF},
	{"stack-copy", required_argument, NULL, OPTION_BPF},
	{"host-calls", required_argument, NULL, OPTION_BPF},
	{"bpf-buffer", required_argument, NULL, OPTION_BPF},
	{"raw-samples", required_argument, NULL, OPTION_RAW_SAMPLES},
	{"stack-source", required_argument, NULL, OPTION_STACK_SOURCE},
	{"lines", required_argument, NULL, OPTION_LINES},
	{"inlines", no_argument, NULL, OPTION_INLINES},
	{"symbol-cache", required_argument, NULL, OPTION_SYMBOL_CACHE},
	{"agent", required_argument, NULL, OPTION_AGENT},
	{"node-name", required_argument, NULL, OPTION_NODE_NAME},
	{"devices", required_argument, NULL, OPTION_DEVICES},
	{"strict", no_argument, NULL, OPTION_STRICT},
	{"dormant", no_argument, NULL, OPTION_DORMANT},
	{"interface", required_argument, NULL, OPTION_INTERFACE},
	{"title", required_argument, NULL, OPTION_TITLE},
	{"task", required_argument, NULL, OPTION_TASK},
	{"aggregator", required_argument, NULL, OPTION_AGGREGATOR},
	{"keys", required_argument, NULL, OPTION_KEYS},
	{"insecure", no_argument, NULL, OPTION_INSECURE},
	{"no-config", no_argument, NULL, OPTION_NO_CONFIG},
	{"quiet", no_argument, NULL, 'q'},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* One that is a name alone, or whose text is kept as it is. false: it is not one of these. */
static bool keep_option(struct run_options *options, int option)
{
	switch (option) {
	case 'o':
		options->output_template = optarg;
		return true;
	case 'q':
		options->log_level = LOG_LEVEL_WARNING;
		return true;
	case 'v':
		options->log_level = LOG_LEVEL_DEBUG;
		return true;
	case OPTION_NO_CONFIG: /* known by then */
		return true;
	case OPTION_AGGREGATOR:
		options->aggregator = optarg;
		return true;
	case OPTION_KEYS:
		options->keys_path = optarg;
		return true;
	case OPTION_INSECURE:
		options->insecure = true;
		return true;
	case OPTION_AGENT:
		options->agent_path = optarg;
		return true;
	case OPTION_DEVICES:
		options->devices_path = optarg;
		return true;
	case OPTION_DORMANT:
		options->dormant = true;
		return true;
	case OPTION_INLINES:
		options->inlines = true;
		return true;
	case OPTION_INTERFACE:
		options->interface = optarg;
		return true;
	case OPTION_NODE_NAME:
		options->node_name = optarg;
		return true;
	case OPTION_NVTX:
		options->nvtx = true;
		return true;
	case OPTION_STRICT:
		options->strict = true;
		return true;
	case OPTION_SYMBOL_CACHE:
		options->symbol_cache = optarg;
		return true;
	case OPTION_TASK:
		options->task = atoi(optarg);
		return true;
	case OPTION_TITLE:
		options->wanted_title = optarg;
		return true;
	default:
		return false;
	}
}

/* One whose text is checked. 0 or -errno, with what is wrong in *error, owns: free(). */
static int check_option(struct run_options *options, int option, const char *name, char **error)
{
	*error = NULL;
	switch (option) {
	case OPTION_BPF:
		return bpf_options_take(&options->bpf, name, optarg, error);
	case OPTION_CAPTURE:
		return capture_options_take(&options->capture, name, optarg, error);
	case OPTION_LINES:
		return take_lines(options, optarg, error);
	case OPTION_RAW_SAMPLES:
		return take_raw_samples(options, optarg, error);
	case OPTION_STACK_SOURCE:
		return take_stack_source(options, optarg, error);
	case OPTION_LOG_LEVEL:
		return log_level_parse(optarg, &options->log_level) == 0
			       ? 0
			       : error_text_set(error, -EINVAL,
						"--log-level %s: must be " LOG_LEVELS, optarg);
	default: /* getopt has said what is wrong */
		return error_text_set(error, -EINVAL, "flamegrid run --help lists the options");
	}
}

/* ---- the configuration */

static const struct option *find_option(const char *name)
{
	for (const struct option *option = option_table; option->name; option++)
		if (strcmp(option->name, name) == 0)
			return option;
	return NULL;
}

/* *has_value: with a value. */
static bool may_configure(const char *name, bool *has_value)
{
	static const char *const not_there[] = {"dormant", "help", "no-config", "task", "title"};
	const struct option *option = find_option(name);

	*has_value = option && option->has_arg == required_argument;
	for (size_t i = 0; i < sizeof(not_there) / sizeof(*not_there); i++)
		if (strcmp(not_there[i], name) == 0)
			return false;
	return option != NULL;
}

static int fail_setting(const struct run_options *options,
			const struct site_config_setting *setting, const char *why, char **error)
{
	return error_text_set(error, -EINVAL, "%s: line %u: %s%s%s: %s", options->config.path,
			      setting->line, setting->name, setting->value ? " " : "",
			      setting->value ? setting->value : "", why);
}

static int take_setting(struct run_options *options, const struct site_config_setting *setting,
			char **error)
{
	const struct option *option = find_option(setting->name);
	bool has_value;
	char *why;

	if (!may_configure(setting->name, &has_value))
		return fail_setting(options, setting, "no option that can be there", error);
	if (has_value != (setting->value != NULL))
		return fail_setting(options, setting, has_value ? "no value" : "has no value",
				    error);
	if (capture_options_is_in_environment(setting->name))
		return 0;
	optarg = (char *)setting->value;
	if (keep_option(options, option->val) ||
	    check_option(options, option->val, setting->name, &why) == 0)
		return 0;
	int result = error_text_set(error, -EINVAL, "%s: line %u: %s", options->config.path,
				    setting->line, why ? why : strerror(ENOMEM));
	free(why);
	return result;
}

/* What says where the profile goes. */
struct destinations {
	const char *output, *agent, *aggregator;
	bool dormant;
};

static struct destinations destinations_of(struct run_options *options)
{
	struct destinations found = {options->output_template, options->agent_path,
				     options->aggregator, options->dormant};

	options->output_template = options->agent_path = options->aggregator = NULL;
	options->dormant = false;
	return found;
}

/* Of one place, the configuration or the command line. */
static int check_destinations(const struct destinations *found, const char *place, char **error)
{
	const char *other = found->agent     ? "agent"
			    : found->dormant ? "dormant"
			    : found->output  ? "output"
					     : NULL;

	*error = NULL;
	if (!found->aggregator || strcmp(found->aggregator, "none") == 0 || !other)
		return 0;
	return error_text_set(error, -EINVAL,
			      "%s--aggregator and --%s: one of them: a site's aggregator keeps "
			      "the profile in a place of its own",
			      place, other);
}

/* What the command line says of where the profile goes is instead of all that the configuration says of it. */
static void choose_destination(struct run_options *options, const struct destinations *configured,
			       const struct destinations *given)
{
	bool is_given = given->output || given->agent || given->dormant || given->aggregator;

	options->output_template = given->output ? given->output : configured->output;
	options->agent_path = given->agent;
	options->dormant = given->dormant;
	options->aggregator = given->aggregator;
	if (!is_given) {
		options->agent_path = configured->agent;
		options->aggregator = configured->aggregator;
	}
	if (options->aggregator && strcmp(options->aggregator, "none") == 0)
		options->aggregator = NULL;
}

static int take_settings(struct run_options *options, struct destinations *configured, char **error)
{
	char place[PATH_MAX + 8];
	int result = site_config_read(&options->config, error);

	for (size_t i = 0; i < options->config.nr && result == 0; i++)
		result = take_setting(options, &options->config.settings[i], error);
	*configured = destinations_of(options);
	if (result)
		return result;
	snprintf(place, sizeof(place), "%s: ", options->config.path);
	return check_destinations(configured, place, error);
}

int run_options_check_config(struct run_options *options, char **error)
{
	struct destinations configured;
	int result = capture_options_init(&options->capture, error);

	return result ? result : take_settings(options, &configured, error);
}

/* One that cannot be used is left alone as a whole: a site's mistake stops no job, and half of what it meant may be
 * worse than nothing of it. false: after saying what is wrong, where that is to stop the job. */
static bool take_config(struct run_options *options, struct destinations *configured, bool strict)
{
	const struct run_options before = *options;
	char *error;
	int result = take_settings(options, configured, &error);

	if (result == 0)
		return true;
	log_warning("%s%s", error ? error : strerror(-result),
		    strict ? ": not started (--strict)" : ": the configuration is left alone");
	free(error);
	*options = before;
	*configured = (struct destinations){0};
	return !strict;
}

/* What the command line says of the configuration. */
struct config_wishes {
	bool none, strict;
};

/* Before all others, which say nothing yet. --help is to be had whatever is configured. */
static struct config_wishes find_wishes(int argc, char **argv)
{
	struct config_wishes wishes = {0};
	bool is_task = false;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+o:qvh", option_table, NULL)) != -1) {
		wishes.none |= option == OPTION_NO_CONFIG || option == 'h';
		wishes.strict |= option == OPTION_STRICT;
		is_task |= option == OPTION_TASK;
	}
	opterr = 1;
	optind = 0;
	wishes.strict &= !is_task; /* there it is `step`'s, not the user's */
	return wishes;
}

/* ---- the command line */

static int take_arguments(struct run_options *options, int argc, char **argv)
{
	int option, index = 0;
	char *error;

	while ((option = getopt_long(argc, argv, "+o:qvh", option_table, &index)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return EXIT_OK + 1;
		}
		if (keep_option(options, option))
			continue;
		int result = check_option(options, option, option_table[index].name, &error);
		if (!taken(result, error))
			return EXIT_RUN_OWN + 1;
	}
	return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv)
{
	struct destinations configured = {0}, given;
	char *error;
	struct config_wishes wishes = find_wishes(argc, argv);
	int result = capture_options_init(&options->capture, &error);

	if (!taken(result, error))
		return EXIT_RUN_OWN + 1;
	if (!wishes.none && !take_config(options, &configured, wishes.strict))
		return EXIT_RUN_OWN + 1;
	result = take_arguments(options, argc, argv);
	if (result)
		return result;
	if (optind == argc) {
		log_error("no command given");
		return EXIT_RUN_OWN + 1;
	}
	given = destinations_of(options);
	result = check_destinations(&given, "", &error);
	if (!taken(result, error))
		return EXIT_RUN_OWN + 1;
	choose_destination(options, &configured, &given);
	if (options->dormant)
		options->capture.window = (struct window_options){.dormant = true};
	if (options->nvtx)
		options->capture.record |= RECORD_OPTION_NVTX;
	options->command = argv + optind;
	if (options->log_level)
		log_set_level(options->log_level);
	return 0;
}
