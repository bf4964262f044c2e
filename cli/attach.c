/* The verbs `attach` and `detach`: a profile of a process that runs already. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/job_environment.h"
#include "cli/base/verbs.h"
#include "cli/run/attach_point.h"
#include "cli/run/capture_options.h"
#include "cli/run/control_client.h"
#include "cli/run/host_only.h"
#include "cli/run/recording.h"
#include "cli/run/target_process.h"
#include "proto/attach.h"
#include "proto/handshake.h"
#include "proto/options/duration.h"
#include "proto/options/record_options.h"
#include "proto/ring/record_ring.h"

#define DEFAULT_OUTPUT "flamegrid-profile"
#define NS_PER_S       1000000000ull
#define POLL_NS        50000000ull
#define LEASE_NS       (6 * NS_PER_S) /* so long the guest goes on without us */
#define RENEW_NS       NS_PER_S
#define COME_NS        (5 * NS_PER_S) /* a guest looks once a second */

struct attach {
	const char *output_path, *node_name, *devices_path, *symbol_cache;
	struct capture_options capture;
	struct report_options names;
	uint64_t duration_ns;
	bool inlines;
	bool asked_to_end; /* once and for all */
	bool host_only;    /* it has no guest */
	pid_t pid;
	struct target_process target;
	struct attach_point point;
	struct recording recording;
	struct agent_status status;
	sigset_t signals;
	uint64_t end_ns, renew_ns; /* CLOCK_MONOTONIC; 0: no end */
};

static const char attach_usage[] =
	"Usage: flamegrid attach --pid PID [OPTION...]\n"
	"Profiles a running process with a dormant guest (see `flamegrid run --dormant`), until it "
	"ends, until\n"
	"Ctrl-C, or `flamegrid detach --pid PID`. Should this command be killed, the process is "
	"left "
	"alone 6 s later.\n"
	"\n"
	"  -p, --pid PID        the process\n"
	"      --duration TIME  and not longer than this (500ms, 30s, 2m)\n"
	"  -o, --output DIR     where the profile goes (default: " DEFAULT_OUTPUT ")\n"
	"      --stacks, --graphs, --record, --api, --lines, --inlines, --symbol-cache, "
	"--node-name, --devices\n"
	"                       as in `flamegrid run`; what is recorded is decided by who attaches "
	"first\n"
	"  -q, --quiet          print nothing but warnings\n"
	"      --log-level L    print messages from this level on: error, warning, notice "
	"(default),\n"
	"                       info or debug\n"
	"  -v                   --log-level debug\n"
	"  -h, --help           this text\n"
	"\n"
	"Of a process without a guest its calls of CUDA are timed, where this command may use BPF "
	"(root).\n"
	"A process that is profiled already keeps its agent: `flamegrid control` starts and stops "
	"its capture.\n"
	"Exit status: 0; 1 the process could not be attached to; 2 usage.\n";

static const char detach_usage[] =
	"Usage: flamegrid detach --pid PID\n"
	"Ends the `flamegrid attach` of this process, which then writes its profile.\n"
	"Exit status: 0; 1 nobody is attached to it; 2 usage.\n";

/* ---- the command line */

enum long_option {
	OPTION_CAPTURE = 256, /* one of capture_options.h */
	OPTION_DURATION,
	OPTION_LINES,
	OPTION_LOG_LEVEL,
	OPTION_INLINES,
	OPTION_SYMBOL_CACHE,
	OPTION_NODE_NAME,
	OPTION_DEVICES,
};

static const struct option option_table[] = {
	{"pid", required_argument, NULL, 'p'},
	{"output", required_argument, NULL, 'o'},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"stacks", required_argument, NULL, OPTION_CAPTURE},
	{"graphs", required_argument, NULL, OPTION_CAPTURE},
	{"record", required_argument, NULL, OPTION_CAPTURE},
	{"api", required_argument, NULL, OPTION_CAPTURE},
	{"lines", required_argument, NULL, OPTION_LINES},
	{"inlines", no_argument, NULL, OPTION_INLINES},
	{"symbol-cache", required_argument, NULL, OPTION_SYMBOL_CACHE},
	{"node-name", required_argument, NULL, OPTION_NODE_NAME},
	{"devices", required_argument, NULL, OPTION_DEVICES},
	{"quiet", no_argument, NULL, 'q'},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static bool take_pid(const char *text, pid_t *pid)
{
	*pid = target_process_parse(text);
	if (*pid == 0)
		log_error("--pid %s: not a process id", text);
	return *pid != 0;
}

static bool take_capture(struct attach *attach, const char *name, const char *text)
{
	char *error;
	int result = capture_options_take(&attach->capture, name, text, &error);

	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result == 0;
}

static bool take_option(struct attach *attach, int option, const char *name)
{
	switch (option) {
	case 'p':
		return take_pid(optarg, &attach->pid);
	case 'o':
		attach->output_path = optarg;
		return true;
	case OPTION_CAPTURE:
		return take_capture(attach, name, optarg);
	case OPTION_DURATION:
		if (duration_parse(optarg, &attach->duration_ns, NULL) == 0 && attach->duration_ns)
			return true;
		log_error("--duration %s: not a time such as 30s, 500ms or 2m", optarg);
		return false;
	case OPTION_LINES:
		attach->names.lines =
			strcmp(optarg, "off") == 0 ? REPORT_LINES_OFF : REPORT_LINES_ON;
		return true;
	case OPTION_INLINES:
		attach->inlines = true;
		return true;
	case OPTION_SYMBOL_CACHE:
		attach->symbol_cache = optarg;
		return true;
	case OPTION_NODE_NAME:
		attach->node_name = optarg;
		return true;
	case OPTION_DEVICES:
		attach->devices_path = optarg;
		return true;
	case 'q':
		log_set_level(LOG_LEVEL_WARNING);
		return true;
	case 'v':
		log_set_level(LOG_LEVEL_DEBUG);
		return true;
	case OPTION_LOG_LEVEL:
		return log_take_level(optarg);
	default: /* getopt has said what is wrong */
		return false;
	}
}

/* 0: go on; otherwise the exit status, less one. */
static int parse(struct attach *attach, int argc, char **argv)
{
	int option, index = 0;
	char *error;

	if (capture_options_init(&attach->capture, &error) < 0) {
		log_error("%s", error ? error : "no memory");
		free(error);
		return EXIT_USAGE + 1;
	}
	while ((option = getopt_long(argc, argv, "p:o:qvh", option_table, &index)) != -1) {
		if (option == 'h') {
			fputs(attach_usage, stdout);
			return EXIT_OK + 1;
		}
		if (!take_option(attach, option, option_table[index].name))
			return EXIT_USAGE + 1;
	}
	if (attach->pid == 0 || optind != argc) {
		log_error(attach->pid ? "%s: not an option" : "--pid is missing",
			  attach->pid ? argv[optind] : "");
		return EXIT_USAGE + 1;
	}
	return 0;
}

/* ---- who it is */

/* Says why it can't be attached to, and what would help. */
static bool may_attach(struct attach *attach)
{
	const struct target_process *target = &attach->target;
	const char *injection = target_process_variable(target, JOB_ENVIRONMENT_INJECTION);
	const char *socket = target_process_variable(target, HANDSHAKE_SOCKET_ENV);
	bool named = injection && strstr(injection, "libflamegrid_inject");

	if (socket && access(socket, F_OK) == 0) {
		log_error("process %d is profiled already, by the agent at %s: `flamegrid "
			  "control start --pid %d` starts its capture",
			  (int)target->pid, socket, (int)target->pid);
		return false;
	}
	if (target->has_guest || named)
		return true;
	if (injection)
		log_notice("process %d runs with another injection library: %s", (int)target->pid,
			   injection);
	attach->host_only = host_only_is_possible(target);
	return attach->host_only;
}

/* The guest's options as lines. 0 or -errno; *text owns: free(). */
static int format_options(const struct attach *attach, char **text)
{
	struct job_environment environment;
	size_t size = 0;
	FILE *out = open_memstream(text, &size);
	int result = out ? job_environment_init(&environment) : -ENOMEM;

	if (result < 0)
		return result;
	result = capture_options_export(&attach->capture, 0, &environment);
	for (size_t i = 0; i < environment.nr_own; i++)
		fprintf(out, "%s\n", environment.own[i]);
	job_environment_fini(&environment);
	if (fclose(out) != 0 && result == 0)
		result = -ENOMEM;
	return result;
}

/* ---- the profile */

static int start(struct attach *attach)
{
	char *options = NULL;
	int result = format_options(attach, &options);
	const struct recording_options recording = {
		.verb = "attach",
		.output_path = attach->output_path,
		.node_name = attach->node_name,
		.devices_path = attach->devices_path,
		.symbol_cache = attach->symbol_cache,
		.title = attach->target.command,
		.names = attach->names,
		.inlines = attach->inlines,
		.attached = true,
		.guest_uid = attach->target.uid,
		.bpf = {.host_calls = attach->host_only,
			.required = attach->host_only,
			.stack_pages = BPF_OPTIONS_STACK_PAGES_MAX,
			.stack_mode = attach->capture.stacks.mode,
			.watch_pid = attach->host_only ? attach->pid : 0},
	};

	if (result == 0)
		result = attach_point_make(&attach->target, options, &attach->point);
	free(options);
	if (result == -EBUSY)
		log_error("process %d: somebody is attached to it already",
			  (int)attach->target.pid);
	else if (result < 0)
		log_error("process %d: nothing can be made in its /tmp: %s",
			  (int)attach->target.pid, strerror(-result));
	return result < 0
		       ? result
		       : recording_start(&recording, attach->point.socket_path, &attach->recording);
}

/* The guest goes on only for so long as it is told to. */
static void renew(struct attach *attach, uint64_t now)
{
	uint64_t lease_ns = LEASE_NS;

	if (now < attach->renew_ns)
		return;
	if (attach->end_ns && attach->end_ns < now + lease_ns)
		lease_ns = attach->end_ns - now;
	profiling_command(attach->recording.profiling,
			  &(struct record_ring_command){
				  .action = RECORD_RING_COMMAND_START,
				  .until_ns = clock_realtime_ns() + lease_ns,
			  });
	attach->renew_ns = now + RENEW_NS;
}

/* Waits for a moment, or until somebody wants to end. */
static bool is_asked_to_end(struct attach *attach)
{
	const struct timespec moment = {.tv_nsec = POLL_NS};
	int signal_number = sigtimedwait(&attach->signals, NULL, &moment);

	profiling_agent_status(attach->recording.profiling, &attach->status);
	if (signal_number > 0 || attach->status.asked_to_leave)
		attach->asked_to_end = true;
	return attach->asked_to_end;
}

static bool is_over(const struct attach *attach)
{
	if (attach->host_only)
		return !host_only_is_alive(&attach->target);
	return attach->status.processes && attach->status.processes_running == 0;
}

/* The guest comes by itself; if it has not, CUDA may not have been started yet. */
static bool await_guest(struct attach *attach)
{
	uint64_t now = clock_now_ns(), said_ns = now + COME_NS;

	for (renew(attach, now); attach->status.processes == 0; now = clock_now_ns()) {
		if (is_asked_to_end(attach) || kill(attach->target.pid, 0) < 0)
			return attach->status.processes != 0;
		if (now >= said_ns) {
			log_notice(
				"process %d has not started CUDA yet, or does not answer: waiting",
				(int)attach->target.pid);
			said_ns = UINT64_MAX;
		}
		renew(attach, now);
	}
	return true;
}

static void watch(struct attach *attach)
{
	uint64_t now = clock_now_ns();

	if (attach->duration_ns)
		attach->end_ns = now + attach->duration_ns;
	log_notice("attached to %d: %s", (int)attach->target.pid,
		   attach->target.command ? attach->target.command : "");
	attach->renew_ns = 0;
	while (!is_asked_to_end(attach) && !is_over(attach)) {
		now = clock_now_ns();
		if (attach->end_ns && now >= attach->end_ns)
			return;
		renew(attach, now);
	}
}

static int profile(struct attach *attach)
{
	bool came = attach->host_only || await_guest(attach);
	char *summary;

	if (came)
		watch(attach);
	recording_finish(&attach->recording, &summary);
	if (!came)
		log_error("process %d: its guest did not come", (int)attach->target.pid);
	else if (summary)
		fputs(summary, stderr);
	free(summary);
	return came ? EXIT_OK : EXIT_FAILED;
}

static bool find_target(pid_t pid, struct target_process *target)
{
	int result = target_process_init(target, pid);

	if (result < 0)
		log_error("process %d: %s", (int)pid, strerror(-result));
	return result == 0;
}

int verb_attach(const char *program, int argc, char **argv)
{
	struct attach attach = {
		.output_path = DEFAULT_OUTPUT, .point.tmp_fd = -1, .recording.output.mark = -1};
	int status = parse(&attach, argc, argv);

	(void)program;
	if (status)
		return status - 1;
	if (!find_target(attach.pid, &attach.target))
		return EXIT_FAILED;
	sigemptyset(&attach.signals);
	sigaddset(&attach.signals, SIGINT);
	sigaddset(&attach.signals, SIGTERM);
	sigaddset(&attach.signals, SIGHUP);
	/* Before there are threads, which inherit it. */
	sigprocmask(SIG_BLOCK, &attach.signals, NULL);
	status = EXIT_FAILED;
	if (may_attach(&attach) && start(&attach) == 0)
		status = profile(&attach);
	attach_point_remove(&attach.point);
	recording_close(&attach.recording);
	target_process_fini(&attach.target);
	return status;
}

/* ---- detach */

static int leave(pid_t pid)
{
	struct control_request request = {.wish = CONTROL_LEAVE};
	static struct control_answer answer;
	struct target_process target;
	char path[108];
	int result;

	if (!find_target(pid, &target))
		return EXIT_FAILED;
	result = attach_point_path(&target, path);
	if (result == 0)
		result = control_client_ask(path, &request, &answer);
	target_process_fini(&target);
	if (result == -ENOENT || result == -ECONNREFUSED)
		log_error("process %d: nobody is attached to it", (int)pid);
	else if (result < 0)
		log_error("process %d: %s", (int)pid, strerror(-result));
	else if (answer.head.status != CONTROL_OK)
		log_error("process %d: %s", (int)pid, control_client_status(answer.head.status));
	return result == 0 && answer.head.status == CONTROL_OK ? EXIT_OK : EXIT_FAILED;
}

int verb_detach(const char *program, int argc, char **argv)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	pid_t pid = 0;
	int option;

	(void)program;
	while ((option = getopt_long(argc, argv, "p:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(detach_usage, stdout);
			return EXIT_OK;
		}
		if (option != 'p' || !take_pid(optarg, &pid))
			return EXIT_USAGE;
	}
	if (pid == 0 || optind != argc) {
		log_error(pid ? "one process at a time" : "--pid is missing");
		return EXIT_USAGE;
	}
	return leave(pid);
}
