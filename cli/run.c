#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture_options.h"
#include "install_paths.h"
#include "job.h"
#include "job_environment.h"
#include "node-agent/bpf_options.h"
#include "node-agent/symbol_cache.h"
#include "output_template.h"
#include "private_dir.h"
#include "proto/handshake.h"
#include "proto/record_options.h"
#include "recording.h"
#include "step_run.h"
#include "verbs.h"

#define DEFAULT_OUTPUT "flamegrid-profile"
#define TITLE_MAX      256

struct run {
	/* options */
	const char *output_template, *agent_path, *node_name, *devices_path, *symbol_cache,
		*interface, *wanted_title;
	struct capture_options capture;
	struct report_options names;
	struct bpf_source_options bpf;
	enum stack_source stack_source;
	bool inlines, nvtx, strict, quiet, dormant, raw_samples;
	pid_t task; /* what the profile is about, in place of the command; 0: the command */
	char **command;
	/* state */
	const char *other_injection; /* somebody else's library, which the job keeps; NULL: none */
	struct install_paths paths;
	struct recording recording;
	struct private_dir sockets;
	char title[TITLE_MAX];
	struct job job;
	struct job_step step;
	bool in_step; /* one of several processes, which write one profile */
	struct step_run ranks;
	char output_path[PATH_MAX];
	char socket_path[PRIVATE_DIR_MAX + 16];
};

static const char usage[] =
	"Usage: flamegrid run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"Runs COMMAND and writes a profile of its GPU work. Its exit status, signals and streams "
	"are its own.\n"
	"\n"
	"  -o, --output DIR     where profile.db, gpu.folded and flame.html go "
	"(default: " DEFAULT_OUTPUT ",\n"
	"                       of several ranks " DEFAULT_OUTPUT
	"-%j); an earlier profile there is "
	"kept as *.old;\n"
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
	"                       pointers: 0, 4, 8, 12 or 16 (default)\n"
	"      --host-calls on|off|auto\n"
	"                       time the job's calls of CUDA and NCCL from the kernel's side and "
	"load no guest: no GPU times;\n"
	"                       auto: beside the guest, where it cannot capture (default: off)\n"
	"      --bpf-buffer KIB room for all of these between two reads (default: 8192; with "
	"calls: "
	"65536)\n"
	"      --raw-samples on|off\n"
	"                       keep each of these samples by itself, too, for report --format "
	"samples\n"
	"                       (default: off)\n"
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
	"  -h, --help           this text\n"
	"\n"
	"Another injection library in CUDA_INJECTION64_PATH is left alone: COMMAND runs with it, "
	"unprofiled.\n"
	"Exit status: COMMAND's; 125 a failure of flamegrid's own, 126 COMMAND could not be "
	"started, 127 not found.\n";

__attribute__((format(printf, 1, 2))) static void warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("flamegrid: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

enum long_option {
	OPTION_CAPTURE = 256, /* one of capture_options.h */
	OPTION_BPF,           /* one of bpf_options.h */
	OPTION_STACK_SOURCE,
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
	OPTION_TASK
};

static bool take_lines(struct run *run, const char *text)
{
	bool off = strcmp(text, "off") == 0;

	run->names.lines = off ? REPORT_LINES_OFF : REPORT_LINES_ON;
	if (!off && strcmp(text, "on") != 0)
		warn("run: --lines %s: must be on or off", text);
	return off || strcmp(text, "on") == 0;
}

static bool take_stack_source(struct run *run, const char *text)
{
	if (stack_source_parse(text, &run->stack_source) == 0)
		return true;
	warn("run: --stack-source %s: must be guest, uprobe or auto", text);
	return false;
}

static bool take_raw_samples(struct run *run, const char *text)
{
	run->raw_samples = strcmp(text, "on") == 0;
	if (run->raw_samples || strcmp(text, "off") == 0)
		return true;
	warn("run: --raw-samples %s: must be on or off", text);
	return false;
}

/* Says what is wrong. */
static bool taken(int result, char *error)
{
	if (result < 0)
		warn("run: %s", error ? error : strerror(-result));
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
	{"delay", required_argument, NULL, OPTION_CAPTURE},
	{"duration", required_argument, NULL, OPTION_CAPTURE},
	{"duty", required_argument, NULL, OPTION_CAPTURE},
	{"capture-range", required_argument, NULL, OPTION_CAPTURE},
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
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* 0: go on; otherwise the exit status, less one. */
static int parse_options(struct run *run, int argc, char **argv)
{
	int option, result, index = 0;
	char *error;

	result = capture_options_init(&run->capture, &error);
	if (!taken(result, error))
		return EXIT_RUN_OWN + 1;
	while ((option = getopt_long(argc, argv, "+o:qh", option_table, &index)) != -1) {
		switch (option) {
		case 'o':
			run->output_template = optarg;
			break;
		case OPTION_CAPTURE:
			result = capture_options_take(&run->capture, option_table[index].name,
						      optarg, &error);
			if (!taken(result, error))
				return EXIT_RUN_OWN + 1;
			break;
		case OPTION_STACK_SOURCE:
			if (!take_stack_source(run, optarg))
				return EXIT_RUN_OWN + 1;
			break;
		case OPTION_RAW_SAMPLES:
			if (!take_raw_samples(run, optarg))
				return EXIT_RUN_OWN + 1;
			break;
		case OPTION_BPF:
			result = bpf_options_take(&run->bpf, option_table[index].name, optarg,
						  &error);
			if (!taken(result, error))
				return EXIT_RUN_OWN + 1;
			break;
		case OPTION_LINES:
			if (!take_lines(run, optarg))
				return EXIT_RUN_OWN + 1;
			break;
		case OPTION_INLINES:
			run->inlines = true;
			break;
		case OPTION_NVTX:
			run->nvtx = true;
			break;
		case OPTION_SYMBOL_CACHE:
			run->symbol_cache = optarg;
			break;
		case OPTION_AGENT:
			run->agent_path = optarg;
			break;
		case OPTION_NODE_NAME:
			run->node_name = optarg;
			break;
		case OPTION_DEVICES:
			run->devices_path = optarg;
			break;
		case OPTION_DORMANT:
			run->dormant = true;
			break;
		case OPTION_INTERFACE:
			run->interface = optarg;
			break;
		case OPTION_TITLE:
			run->wanted_title = optarg;
			break;
		case OPTION_TASK:
			run->task = atoi(optarg);
			break;
		case OPTION_STRICT:
			run->strict = true;
			break;
		case 'q':
			run->quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK + 1;
		default: /* getopt has said what is wrong */
			warn("run: flamegrid run --help lists the options");
			return EXIT_RUN_OWN + 1;
		}
	}
	if (optind == argc) {
		warn("run: no command given");
		return EXIT_RUN_OWN + 1;
	}
	if (run->dormant)
		run->capture.window = (struct window_options){.dormant = true};
	if (run->nvtx)
		run->capture.record |= RECORD_OPTION_NVTX;
	run->command = argv + optind;
	return 0;
}

static void job_title(const struct run *run, char title[static TITLE_MAX])
{
	char *const one[] = {(char *)run->wanted_title, NULL};
	char *const *command = run->wanted_title ? one : run->command;
	size_t used = 0;

	title[0] = '\0';
	for (size_t i = 0; command[i] && used < TITLE_MAX - 1; i++) {
		int size =
			snprintf(title + used, TITLE_MAX - used, "%s%s", i ? " " : "", command[i]);

		used += size > 0 ? (size_t)size : 0;
	}
	if (run->other_injection && used < TITLE_MAX - 1)
		snprintf(title + used, TITLE_MAX - used,
			 " [unprofiled: " JOB_ENVIRONMENT_INJECTION " was %s]",
			 run->other_injection);
}

/* No guest is wanted at all. */
static bool is_host_only(const struct run *run)
{
	return run->bpf.host_calls && !run->bpf.calls_auto;
}

/* Of several ranks one profile, unless each is told to write another one. 0 or -errno after a warning. */
static int find_output(struct run *run)
{
	const char *template = run->output_template, *at;
	int result;

	run->in_step = job_step_read_own(&run->step) && !run->dormant && !run->agent_path;
	if (!template)
		template = run->in_step && run->step.job[0] ? DEFAULT_OUTPUT "-%j" : DEFAULT_OUTPUT;
	result = output_template_expand(template, &run->step, run->in_step, run->output_path, &at);
	if (result == -ENOENT)
		warn("run: --output %s: nothing is known for %.2s", template, at);
	else if (result == -EINVAL)
		warn("run: --output %s: %.2s: not one of %%j %%h %%r %%p %%q{NAME} %%%%", template,
		     at);
	else if (result)
		warn("run: --output %s: %s", template, strerror(-result));
	run->in_step = run->in_step && !output_template_is_per_process(template);
	return result;
}

/* The agent of this node and the aggregator of the step. 0 or -errno after a warning. */
static int start_ranks(struct run *run)
{
	char *symbol_cache = symbol_cache_directory(run->symbol_cache);
	const struct step_run_options options = {
		.output_path = run->output_path,
		.interface = run->interface,
		.title = run->title,
		.names = run->names,
		.quiet = run->quiet,
		.raw_samples = run->raw_samples,
		.task = run->task,
		.agent = {.node_name = run->node_name,
			  .devices_path = run->devices_path,
			  .symbol_cache = symbol_cache,
			  .inlines = run->inlines,
			  .quiet = run->quiet,
			  .bpf = run->bpf,
			  .probe = {.source = run->stack_source}},
	};
	int result = step_run_start(&run->ranks, &run->step, &options);

	free(symbol_cache);
	if (result == 0)
		snprintf(run->socket_path, sizeof(run->socket_path), "%s", run->ranks.socket_path);
	return result;
}

/* Our own agent and aggregator, writing into the output directory. 0 or -errno after a warning. */
static int start_own(struct run *run)
{
	int result;

	job_title(run, run->title);
	run->bpf.stack_mode = run->capture.stacks.mode;
	run->bpf.required = is_host_only(run);
	if (run->in_step)
		return start_ranks(run);
	result = private_dir_create(&run->sockets);

	if (result < 0) {
		warn("run: no directory for the agent's socket: %s", strerror(-result));
		return result;
	}
	snprintf(run->socket_path, sizeof(run->socket_path), "%s/agent", run->sockets.path);
	/* The job is the only child that this process will have. */
	run->bpf.watch_pid = run->task ? run->task : getpid();

	const struct recording_options options = {
		.verb = "run",
		.output_path = run->output_path,
		.node_name = run->node_name,
		.devices_path = run->devices_path,
		.symbol_cache = run->symbol_cache,
		.title = run->title,
		.names = run->names,
		.inlines = run->inlines,
		.quiet = run->quiet,
		.bpf = run->bpf,
		.raw_samples = run->raw_samples,
		.stack_source = run->stack_source,
	};
	return recording_start(&options, run->socket_path, &run->recording);
}

/* The guest, and nobody else's in its place. 0 or -errno after a warning. */
static int prepare_guest(struct run *run, const char *program)
{
	const char *other = getenv(JOB_ENVIRONMENT_INJECTION);
	int result = install_paths_find(program, &run->paths);

	if (result < 0) {
		warn("run: %s: the injection library is missing: %s", run->paths.inject,
		     strerror(-result));
		return result;
	}
	if (other && *other && strcmp(other, run->paths.inject) != 0) {
		warn("run: " JOB_ENVIRONMENT_INJECTION " is already set to %s and is left alone: "
		     "CUDA runs with it, and unprofiled",
		     other);
		if (run->strict)
			return -EBUSY;
		run->other_injection = other;
	}
	return 0;
}

/* Everything that has to be there before the job starts. 0 or -errno after a warning. */
static int prepare(struct run *run, const char *program)
{
	if (bpf_options_wanted(&run->bpf) && (run->agent_path || run->dormant)) {
		warn("run: --cpu-hz, --off-cpu and --host-calls are the agent's: there is none of "
		     "this run's own");
		run->bpf.host_calls = false;
	}
	if (run->raw_samples && (run->agent_path || run->dormant))
		warn("run: --raw-samples is the aggregator's: there is none of this run's own");
	if (run->stack_source != STACK_SOURCE_GUEST && (run->agent_path || run->dormant))
		warn("run: --stack-source is the agent's: there is none of this run's own");
	int result = find_output(run);
	if (result == 0 && !is_host_only(run))
		result = prepare_guest(run, program);
	if (result < 0)
		return result;
	if (run->dormant && !run->agent_path)
		return 0;
	if (!run->agent_path)
		return start_own(run);
	if (access(run->agent_path, W_OK) < 0) {
		warn("run: %s: no agent there: %s", run->agent_path, strerror(errno));
		return -errno;
	}
	return 0;
}

/* Says how it went. The job's own end is not ours to change. */
static void finish(struct run *run)
{
	char *summary;
	uint64_t nr_samples;
	uint64_t nr_processes = recording_finish(&run->recording, &nr_samples, &summary);

	unlink(run->socket_path);
	private_dir_remove(&run->sockets);
	if (summary && nr_processes == 0 && nr_samples == 0 && run->other_injection)
		; /* said at the start */
	else if (summary && nr_processes == 0 && nr_samples == 0)
		warn("run: no process of the command started CUDA under this profiler; "
		     "%s/{" OUTPUT_STORE "," OUTPUT_FOLDED "," OUTPUT_HTML "} are empty",
		     run->recording.output.path);
	else if (summary && !run->quiet)
		fputs(summary, stderr);
	free(summary);
	recording_close(&run->recording);
}

static int exec_status(int error)
{
	return error == -ENOENT ? EXIT_RUN_FOUND : EXIT_RUN_EXEC;
}

/* Profiling cannot start: the job runs all the same, in our place. */
static int run_unprofiled(const struct run *run)
{
	if (run->strict) {
		warn("run: not started (--strict)");
		return EXIT_RUN_OWN;
	}
	warn("run: %s runs unprofiled", run->command[0]);
	job_unblock_signals(&run->job);
	execvp(run->command[0], run->command);
	warn("run: %s: %s", run->command[0], strerror(errno));
	return exec_status(-errno);
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ranges are wanted as frames, or as capture windows. */
static bool wants_nvtx(const struct capture_options *capture)
{
	return capture->record & RECORD_OPTION_NVTX || capture->window.range == WINDOW_RANGE_NVTX;
}

/* Another tool's NVTX library stays: it may be why the job runs. */
static int lead_in_nvtx(const struct run *run, struct job_environment *environment)
{
	const char *other = getenv(JOB_ENVIRONMENT_NVTX);

	if (!other || !*other || strcmp(other, run->paths.inject) == 0)
		return job_environment_set(environment, JOB_ENVIRONMENT_NVTX, run->paths.inject);
	warn("run: " JOB_ENVIRONMENT_NVTX
	     " is already set to %s and is left alone: no NVTX ranges%s",
	     other,
	     run->capture.window.range == WINDOW_RANGE_NVTX ? ", so nothing is captured" : "");
	return 0;
}

/* The environment that leads the guest into the job's processes. 0 or -ENOMEM; fini in either case. */
static int lead_in(const struct run *run, const char *socket_path,
		   struct job_environment *environment)
{
	int result = job_environment_init(environment);

	if (is_host_only(run))
		return result;
	if (result == 0 && !run->other_injection)
		result = job_environment_set(environment, JOB_ENVIRONMENT_INJECTION,
					     run->paths.inject);
	/* A dormant guest without an agent must not go to that of a run around it. */
	if (result == 0 && (*socket_path || getenv(HANDSHAKE_SOCKET_ENV)))
		result = job_environment_set(environment, HANDSHAKE_SOCKET_ENV, socket_path);
	if (result == 0 && wants_nvtx(&run->capture))
		result = lead_in_nvtx(run, environment);
	return result ? result : capture_options_export(&run->capture, realtime_ns(), environment);
}

int verb_run(const char *program, int argc, char **argv)
{
	struct run run = {.recording.output.fd = -1,
			  .ranks = {.aggregator.fd = -1, .member.fd = -1},
			  .bpf.stack_pages = BPF_SOURCE_STACK_PAGES_MAX};
	int status = parse_options(&run, argc, argv);

	if (status)
		return status - 1;
	job_block_signals(&run.job);
	if (prepare(&run, program) < 0) {
		private_dir_remove(&run.sockets);
		recording_close(&run.recording);
		return run_unprofiled(&run);
	}

	const char *socket_path = run.agent_path ? run.agent_path : run.socket_path;
	struct job_environment environment;
	int error = lead_in(&run, socket_path, &environment);
	if (error == 0 && run.dormant && !run.agent_path) {
		job_unblock_signals(&run.job);
		execvpe(run.command[0], run.command, environment.list); /* in our place */
		error = -errno;
	} else if (error == 0)
		error = job_start(&run.job, run.command, environment.list);
	job_environment_fini(&environment);
	if (error < 0)
		warn("run: %s: %s", run.command[0], strerror(-error));
	else
		status = job_wait(&run.job);
	if (run.recording.profiling)
		finish(&run);
	if (run.in_step)
		step_run_finish(&run.ranks, error < 0 || status != 0);
	if (error < 0)
		return exec_status(error);
	job_exit_like(status);
}
