/* The verb `control`: changes what running processes capture, from now on or at a given time. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "cli/job/control_job.h"
#include "cli/job/site_aggregator.h"
#include "cli/run/agent_sockets.h"
#include "cli/run/control_client.h"
#include "cli/run/target_process.h"
#include "node-agent/files/proc_file.h"
#include "options/option_line.h"
#include "proto/options/duration.h"
#include "proto/ring/record_ring.h"

#define NS_PER_S 1000000000u
#define POLL_NS  50000000
#define TAKE_NS  5000000000u /* limit for all processes to take a command */

struct control {
	const char *agent_path;
	pid_t pid;
	uint64_t delay_ns, duration_ns, at_ns;
	bool no_wait, quiet, at_relative;
	const char *profile, *endpoint,
		*keys_path;     /* of a job of several nodes; NULL: only processes of this node */
	const char *job, *user; /* for a site's aggregator */
	struct control_request request;
	struct agent_sockets sockets;
	bool has_asked;    /* every agent was asked once */
	size_t nr_answers; /* agents in the last round */
	size_t nr_processes, nr_taken;
	uint64_t nr_windows; /* sum of all processes in the last round */
	bool is_loaded;      /* a process of that round is in this state */
};

/* ---- the command line */

/* The meanings of option_table_control.words, in the same order. */
static const struct {
	uint32_t wish, action;
} words[] = {
	{CONTROL_COMMAND, RECORD_RING_COMMAND_START}, /* start */
	{CONTROL_COMMAND, RECORD_RING_COMMAND_STOP},  /* stop */
	{CONTROL_COMMAND, RECORD_RING_COMMAND_NONE},  /* auto */
	{CONTROL_STATUS, 0},                          /* status */
};

/* Checks which options go together. false, after an error: some do not. */
static bool check_job(const struct control *control)
{
	bool job = control->profile || control->endpoint || control->job;

	if (control->keys_path && !control->endpoint)
		log_error("--keys needs --connect");
	else if (control->user && !control->job)
		log_error("--user needs --job");
	else if (control->profile && (control->endpoint || control->job))
		log_error("%s and --%s: only one of them", control->profile,
			  control->job ? "job" : "connect");
	else if (job && control->request.wish == CONTROL_STATUS)
		log_error("status shows this node: it takes no PROFILE, --connect or --job");
	else if (job && (control->pid || control->agent_path))
		log_error("--pid and --agent exclude PROFILE, --connect and --job");
	else if (job && control->no_wait)
		log_error("--no-wait excludes PROFILE, --connect and --job");
	else
		return true;
	return false;
}

static int take_at(void *context, const char *name, const char *value, char **error)
{
	struct control *control = context;

	control->at_relative = *value == '+';
	if (duration_parse(value + control->at_relative, &control->at_ns, NULL) == 0)
		return 0;
	return error_text_set(error, -EINVAL, "--%s %s: not a time such as 30s, 500ms or 2m", name,
			      value);
}

static int parse(struct control *control, int argc, char **argv)
{
	enum log_level level = LOG_LEVEL_NOTICE;
	const struct option_target targets[] = {
		{"pid", .pid = &control->pid},
		{"agent", .text = &control->agent_path},
		{"job", .text = &control->job, .least = 1},
		{"user", .text = &control->user},
		{"connect", .text = &control->endpoint},
		{"keys", .text = &control->keys_path},
		{"delay", .time_ns = &control->delay_ns},
		{"duration", .time_ns = &control->duration_ns},
		{"at", .take = take_at, .context = control},
		{"no-wait", .flag = &control->no_wait},
		OPTION_TARGETS_MESSAGES(&level),
	};
	const struct option_table *table = &option_table_control;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	log_set_level(level);
	control->quiet = !log_shows(LOG_LEVEL_NOTICE);
	int word = option_line_word(table, argv[optind]);
	if (word < 0)
		return EXIT_USAGE;
	control->request.wish = words[word].wish;
	control->request.action = words[word].action;
	control->profile = argv[optind + 1];
	bool exhaustive;
	if (control->profile &&
	    (argv[optind + 2] ||
	     option_words_find(table->words, control->profile, &exhaustive) >= 0))
		return option_line_refuse(table, "%s: only one word and one PROFILE are allowed",
					  argv[optind + 2] ? argv[optind + 2] : control->profile);
	if (!check_job(control))
		return EXIT_USAGE;
	if (control->at_ns && control->delay_ns)
		return option_line_refuse(table, "--at and --delay: only one of them");
	if (control->at_relative) {
		control->delay_ns = control->at_ns;
		control->at_ns = 0;
	}
	return OPTION_LINE_GO;
}

/* ---- asking */

static const char *const states[] = {"off", "on", "ending", "loaded", "blocked"};

static const char *state_name(uint32_t state)
{
	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "?";
}

static void print_process(const struct control_process *process)
{
	char *command = process->pid ? proc_file_command((pid_t)process->pid, NULL) : NULL;

	printf("%-9u %-8s %8u  %s\n", process->pid, state_name(process->state), process->nr_windows,
	       command ? command : "");
	free(command);
}

static bool has_taken(const struct control *control, const struct control_process *process)
{
	switch (control->request.action) {
	case RECORD_RING_COMMAND_START:
		return process->state == RECORD_RING_CAPTURE_ON;
	case RECORD_RING_COMMAND_STOP:
		return process->state == RECORD_RING_CAPTURE_OFF ||
		       process->state == RECORD_RING_CAPTURE_LOADED;
	default:
		return true;
	}
}

static void take_answer(struct control *control, const struct control_answer *answer, bool print)
{
	control->nr_answers++;
	if (print && control->nr_processes == 0 && answer->head.nr_processes)
		printf("%-9s %-8s %8s  %s\n", "PID", "CAPTURE", "WINDOWS", "COMMAND");
	for (uint32_t i = 0; i < answer->head.nr_processes; i++) {
		control->nr_processes++;
		control->nr_taken += has_taken(control, &answer->processes[i]);
		control->nr_windows += answer->processes[i].nr_windows;
		control->is_loaded |= answer->processes[i].state == RECORD_RING_CAPTURE_LOADED;
		if (print)
			print_process(&answer->processes[i]);
	}
}

static bool has_ended(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET;
}

/* A socket that refuses the first question was left by a killed run, so no notice is given. */
static void pass_over(struct control *control, size_t index, int error)
{
	if (control->has_asked || error != -ECONNREFUSED)
		log_notice("%s: this agent has ended", control->sockets.paths[index]);
	agent_sockets_drop(&control->sockets, index);
}

/* Asks every agent. If there are several, some may end before they answer. false: after a warning. */
static bool ask(struct control *control, uint32_t wish, bool print)
{
	static struct control_answer answer;
	bool alone = control->sockets.count == 1, fine = true;

	control->nr_answers = control->nr_processes = control->nr_taken = 0;
	control->nr_windows = 0;
	control->is_loaded = false;
	for (size_t i = 0; i < control->sockets.count;) {
		const char *path = control->sockets.paths[i];
		struct control_request request = control->request;

		request.wish = wish;
		int result = control_client_ask(path, &request, &answer);
		if (!alone && has_ended(result)) {
			pass_over(control, i, result);
			continue;
		}
		i++;
		if (result < 0) {
			log_error("%s: %s", path,
				  has_ended(result) && result != -ENOENT ? "this agent has ended"
									 : strerror(-result));
			fine = false;
		} else if (answer.head.status == CONTROL_NO_PROCESS && !alone) {
			continue;
		} else if (answer.head.status != CONTROL_OK) {
			log_error("%s: %s", path, control_client_status(answer.head.status));
			fine = false;
		} else {
			take_answer(control, &answer, print);
		}
	}
	control->has_asked = true;
	if (print && control->is_loaded)
		log_notice("loaded: nothing is recorded, but launches still cost some 0.1 us more "
			   "(docs/windows.md)");
	if (fine && control->nr_answers == 0)
		log_error("no agent of this user answers on this node");
	return fine && control->nr_answers;
}

/* A short window may end before its state is seen. The number of windows then shows that it was opened. */
static bool all_have_taken(const struct control *control, uint64_t nr_windows_before)
{
	return control->nr_taken == control->nr_processes ||
	       (control->duration_ns &&
		control->nr_windows >= nr_windows_before + control->nr_processes);
}

/* Waits until all processes have taken the command. The last answers are those to the command itself. */
static bool wait_for_all(struct control *control)
{
	uint64_t until_ns = clock_now_ns() + TAKE_NS;
	uint64_t nr_windows_before = control->nr_windows;

	for (;;) {
		if (!ask(control, CONTROL_STATUS, false))
			return false;
		if (all_have_taken(control, nr_windows_before))
			return true;
		if (clock_now_ns() >= until_ns)
			break;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	log_warning("%zu of %zu processes did not take the command in %u s (`flamegrid "
		    "control status` shows which)",
		    control->nr_processes - control->nr_taken, control->nr_processes,
		    (unsigned int)(TAKE_NS / NS_PER_S));
	return false;
}

static void set_times(struct control *control)
{
	uint64_t from_ns = control->at_ns;

	if (control->delay_ns)
		from_ns = clock_realtime_ns() + control->delay_ns;
	control->request.from_ns = from_ns;
	if (control->duration_ns)
		control->request.until_ns =
			(from_ns ? from_ns : clock_realtime_ns()) + control->duration_ns;
}

static int carry_out(struct control *control)
{
	bool status = control->request.wish == CONTROL_STATUS, fine;

	/* The answers to `status` are printed as they come, whether or not all agents answer. */
	if (!ask(control, control->request.wish, status && !control->quiet))
		return EXIT_FAILED;
	if (control->nr_processes == 0) {
		if (!control->quiet)
			printf(status ? "no process yet\n"
				      : "no process yet: those that come will be told\n");
		return EXIT_OK;
	}
	if (status)
		return EXIT_OK;
	fine = control->request.from_ns || control->no_wait || wait_for_all(control);
	if (!fine || !control->quiet)
		ask(control, CONTROL_STATUS, true);
	return fine ? EXIT_OK : EXIT_FAILED;
}

/* Commands a whole job. Relative times stay relative, because the aggregator's clock counts. */
static int command_job(struct control *control)
{
	char user[MESSAGE_JOB_NAME_MAX + 1], what[MESSAGE_JOB_NAME_MAX + 16];

	snprintf(what, sizeof(what), "--job %s", control->job ? control->job : "");
	if (control->job && !control->endpoint &&
	    !site_aggregator_find(what, &control->endpoint, &control->keys_path))
		return EXIT_FAILED;
	site_aggregator_user(user);
	struct control_job_options options = {
		.profile = control->profile,
		.endpoint = control->endpoint,
		.keys_path = control->keys_path,
		.job = control->job,
		.user = control->user ? control->user : user,
		.action = control->request.action,
		.relative = control->at_ns == 0,
		.from_ns = control->at_ns ? control->at_ns : control->delay_ns,
		.wait_ns = TAKE_NS,
		.quiet = control->quiet,
	};

	if (control->duration_ns)
		options.until_ns = options.from_ns + control->duration_ns;
	return control_job(&options);
}

int verb_control(const char *program, int argc, char **argv)
{
	struct control control = {0};
	int result = parse(&control, argc, argv);

	(void)program;
	if (result != OPTION_LINE_GO)
		return result;
	if (control.profile || control.endpoint || control.job)
		return command_job(&control);
	control.request.pid = (uint32_t)control.pid;
	set_times(&control);
	result = agent_sockets_find(control.agent_path, control.pid, &control.sockets);
	if (result == -ENOENT && control.pid)
		log_error("process %d: is not profiled", (int)control.pid);
	else if (result == -ENOENT)
		log_error("no run of this user on this node");
	else if (result < 0)
		log_error("process %d: %s", (int)control.pid, target_process_error(result));
	result = result < 0 ? EXIT_FAILED : carry_out(&control);
	agent_sockets_fini(&control.sockets);
	return result;
}
