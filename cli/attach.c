/* The verbs `attach` and `detach`: a profile of a process that already runs. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "cli/base/job_environment.h"
#include "cli/base/verbs.h"
#include "cli/run/attach_point.h"
#include "cli/run/capture_options.h"
#include "cli/run/control_client.h"
#include "cli/run/host_only.h"
#include "cli/run/recording.h"
#include "cli/run/target_process.h"
#include "options/option_line.h"
#include "proto/attach.h"
#include "proto/handshake.h"
#include "proto/ring/record_ring.h"

#define DEFAULT_OUTPUT "flamegrid-profile"
#define NS_PER_S       1000000000ull
#define POLL_NS        50000000ull
#define LEASE_NS       (6 * NS_PER_S) /* the guest goes on for so long without us */
#define RENEW_NS       NS_PER_S
#define COME_NS        (5 * NS_PER_S) /* a guest looks once a second */

struct attach {
	const char *output_path, *node_name, *devices_path, *symbol_cache;
	struct capture_options capture;
	struct report_options names;
	uint64_t duration_ns;
	bool inlines;
	bool asked_to_end; /* by us, once */
	bool host_only;    /* the process has no guest */
	pid_t pid;
	struct target_process target;
	struct attach_point point;
	struct recording recording;
	struct agent_status status;
	sigset_t signals;
	uint64_t end_ns, renew_ns; /* CLOCK_MONOTONIC; 0: no end */
};

/* ---- the command line */

static int take_capture(void *options, const char *name, const char *value, char **error)
{
	return capture_options_take(options, name, value, error);
}

static int parse(struct attach *attach, int argc, char **argv)
{
	enum log_level level = LOG_LEVEL_NOTICE;
	const struct option_target targets[] = {
		{"pid", .pid = &attach->pid},
		{"output", .text = &attach->output_path, .least = 1},
		{"duration", .time_ns = &attach->duration_ns, .least = 1},
		{"lines", .choice = &attach->names.lines, .first = REPORT_LINES_ON},
		{"inlines", .flag = &attach->inlines},
		{"symbol-cache", .text = &attach->symbol_cache},
		{"node-name", .text = &attach->node_name},
		{"devices", .text = &attach->devices_path},
		OPTION_TARGETS_MESSAGES(&level),
		{NULL, .take = take_capture, .context = &attach->capture},
	};
	const struct option_table *table = &option_table_attach;
	char *error;

	if (capture_options_init(&attach->capture, &error) < 0) {
		option_line_refuse(table, "%s", error ? error : "no memory");
		free(error);
		return EXIT_USAGE;
	}
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);
	if (status != OPTION_LINE_GO)
		return status;
	log_set_level(level);
	if (attach->pid == 0)
		return option_line_lacks(table, "--pid is missing");
	if (capture_options_check(&attach->capture, &error) < 0) {
		option_line_refuse(table, "%s", error ? error : "no memory");
		free(error);
		return EXIT_USAGE;
	}
	return OPTION_LINE_GO;
}

/* ---- the process */

/* Returns whether attaching is possible; if not, an error says why, and how to make it possible. */
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

/* The caller owns *text (free()). */
static int format_options(const struct attach *attach, char **text)
{
	struct job_environment environment;
	struct memory_text memory;
	size_t size;
	int result = job_environment_init(&environment);

	if (result < 0)
		return result;
	result = capture_options_export(&attach->capture, 0, &environment);
	int opened = memory_text_open(&memory);
	for (size_t i = 0; !opened && i < environment.nr_own; i++)
		fprintf(memory.out, "%s\n", environment.own[i]);
	job_environment_fini(&environment);
	if (!opened)
		opened = memory_text_take(&memory, text, &size);
	return result < 0 ? result : opened;
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

/* The guest ends its capture when the lease runs out, so a killed attach stops it. */
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

/* Waits for a moment, at most until a signal asks for the end. */
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

/* The guest connects by itself; a late one may belong to a process that has not started CUDA yet. */
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
		log_error("process %d: %s", (int)pid, target_process_error(result));
	return result == 0;
}

int verb_attach(const char *program, int argc, char **argv)
{
	struct attach attach = {
		.output_path = DEFAULT_OUTPUT, .point.tmp_fd = -1, .recording.output.mark = -1};
	int status = parse(&attach, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (!find_target(attach.pid, &attach.target))
		return EXIT_FAILED;
	sigemptyset(&attach.signals);
	sigaddset(&attach.signals, SIGINT);
	sigaddset(&attach.signals, SIGTERM);
	sigaddset(&attach.signals, SIGHUP);
	/* Threads inherit the mask, so it is set before they start. */
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
	const struct option_table *table = &option_table_detach;
	pid_t pid = 0;
	const struct option_target targets[] = {{"pid", .pid = &pid}};
	int status = option_line_parse(table, targets, 1, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (pid == 0)
		return option_line_lacks(table, "--pid is missing");
	return leave(pid);
}
