#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/background.h"
#include "cli/base/job_environment.h"
#include "cli/base/verbs.h"
#include "cli/job/step_dir.h"
#include "cli/job/step_options.h"
#include "options/option_line.h"
#include "proto/install_paths.h"

#define OWN_PREFIX      "FLAMEGRID_"
#define READY_MS        25000 /* two keepers start, each within ten seconds */
#define END_S           63    /* `run` waits at most a minute for other nodes, and two seconds */
#define LOOK_MS         100
#define ENVIRONMENT_MAX 65536u
#define WORD_ENDED      'e' /* from the plugin: the task has ended well */
#define WORD_INT        'i' /* SIGINT has ended the task */
#define WORD_TERM       't' /* SIGTERM or SIGHUP has ended it */
#define NUMBER_SIZE     16

/* A prolog starts without standard streams (slurmstepd's task.c). Later descriptors must not take their numbers. */
static void open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static bool read_options(struct step_options *options, int argc, char **argv)
{
	char *error;
	int r = 0;

	for (int i = 0; i < argc && r == 0; i++) {
		r = step_options_add(options, argv[i], &error);
		if (r)
			log_error("%s", error ? error : strerror(-r));
		free(error);
	}
	return r == 0;
}

/* ---- check */

static int check(const char *program, int argc, char **argv)
{
	struct step_options options = {0};
	char *run[STEP_OPTIONS_MAX + 3] = {(char *)"run"};
	int status = EXIT_USAGE, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int nr = 1;

	if (read_options(&options, argc, argv)) {
		for (size_t i = 0; i < options.nr; i++)
			run[nr++] = options.list[i];
		run[nr++] = (char *)"--help"; /* prints only after all options are understood */
		dup2(nowhere, STDOUT_FILENO);
		status = verb_run(program, nr, run) == EXIT_OK ? EXIT_OK : EXIT_USAGE;
	}
	close(nowhere);
	step_options_fini(&options);
	return status;
}

/* ---- hold: the command that `run` watches, in place of the task */

static bool is_for_task(const char *variable)
{
	static const char *const names[] = {OWN_PREFIX, JOB_ENVIRONMENT_INJECTION "=",
					    JOB_ENVIRONMENT_NVTX "=", JOB_ENVIRONMENT_NCCL "="};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Each variable ends with a NUL, and the list with one more. */
static bool send_environment(int fd)
{
	bool sent = true;

	for (char **variable = environ; *variable && sent; variable++) {
		size_t size = strlen(*variable) + 1;

		if (is_for_task(*variable))
			sent = write(fd, *variable, size) == (ssize_t)size;
	}
	return sent && write(fd, "", 1) == 1;
}

static void await_process(int pid, int process)
{
	struct pollfd news = {.fd = process, .events = POLLIN};

	if (process >= 0) {
		while (poll(&news, 1, -1) < 0 && errno == EINTR)
			;
		return;
	}
	while (kill(pid, 0) == 0) /* Linux before 5.3 has no pidfd_open() */
		poll(NULL, 0, LOOK_MS);
}

/* Ends by the signal that ended the task, so that `run` knows that the task was stopped. */
static void end_by(int signal_number)
{
	sigset_t only;

	signal(signal_number, SIG_DFL);
	sigemptyset(&only);
	sigaddset(&only, signal_number);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* Waits for the plugin's word. It does not return if a signal ended the task. */
static bool ended_well(int hook)
{
	char word = 0;
	ssize_t size;

	do
		size = recv(hook, &word, sizeof(word), 0);
	while (size < 0 && errno == EINTR);
	if (size == sizeof(word) && (word == WORD_INT || word == WORD_TERM))
		end_by(word == WORD_INT ? SIGINT : SIGTERM);
	return size == sizeof(word) && word == WORD_ENDED;
}

/* Arguments: PID HOOK READY ENVIRONMENT. `run` takes the exit status for the task's: success or failure. */
static int hold(int argc, char **argv)
{
	sigset_t all;

	if (argc != 4)
		return EXIT_USAGE;
	const int pid = atoi(argv[0]), hook = atoi(argv[1]), ready = atoi(argv[2]);
	const int environment = atoi(argv[3]);

	/* Signals to the whole step are meant for its tasks. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "flamegrid-step");
	int process = hook < 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	background_ready(ready);
	if (!send_environment(environment))
		return EXIT_FAILED; /* the reader has gone */
	close(environment);
	if (hook >= 0)
		return ended_well(hook) ? EXIT_OK : EXIT_FAILED;
	await_process(pid, process);
	return EXIT_OK;
}

/* ---- begin */

struct task {
	const char *program, *title;
	struct step_options options;
	pid_t pid;
	int hook;            /* -1: none */
	struct step_dir end; /* locked until the profile is written; `end` waits for the lock */
	int environment[2];
};

static void keep_over_exec(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

/* Runs `run` in a process of its own. */
static void run_task(void *argument, int ready)
{
	struct task *task = argument;
	struct install_paths paths = {0};
	char *run[STEP_OPTIONS_MAX + 16] = {(char *)"run", (char *)"--strict"};
	char exe[PATH_MAX + 16], title[320], pid[32], numbers[4][NUMBER_SIZE];
	const int values[4] = {task->pid, task->hook, ready, task->environment[1]};
	int nr = 2;

	prctl(PR_SET_NAME, "flamegrid-step");
	install_paths_find(task->program, &paths);
	snprintf(exe, sizeof(exe), "%s/bin/flamegrid", paths.root);
	snprintf(title, sizeof(title), "--title=%s", task->title);
	snprintf(pid, sizeof(pid), "--task=%d", task->pid);
	run[nr++] = title;
	run[nr++] = pid;
	for (size_t i = 0; i < task->options.nr; i++)
		run[nr++] = task->options.list[i];
	run[nr++] = (char *)"--";
	run[nr++] = exe;
	run[nr++] = (char *)"step";
	run[nr++] = (char *)"hold";
	for (int i = 0; i < 4; i++) {
		snprintf(numbers[i], NUMBER_SIZE, "%d", values[i]);
		run[nr++] = numbers[i];
	}
	keep_over_exec(task->hook);
	keep_over_exec(ready);
	keep_over_exec(task->environment[1]);
	_exit(verb_run(task->program, nr, run));
}

/* Returns the size of the whole environment; 0: it is incomplete. */
static size_t read_environment(int fd, char text[static ENVIRONMENT_MAX])
{
	size_t used = 0;
	ssize_t size;

	do {
		size = read(fd, text + used, ENVIRONMENT_MAX - used);
		if (size > 0)
			used += (size_t)size;
		else if (size == 0 || errno != EINTR)
			return 0;
	} while (used == 0 || text[used - 1] || (used > 1 && text[used - 2]));
	return used;
}

static int print_environment(int fd)
{
	static char text[ENVIRONMENT_MAX];
	size_t size = read_environment(fd, text);

	if (size == 0) {
		log_error("its environment did not come");
		return EXIT_FAILED;
	}
	for (const char *entry = text; *entry; entry += strlen(entry) + 1) {
		const char *value = strchr(entry, '=');
		char name[128];

		if (!value || (size_t)(value - entry) >= sizeof(name) || strchr(entry, '\n'))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(value - entry), entry);
		const char *had = getenv(name);
		if (!had || strcmp(had, value + 1) != 0)
			puts(entry);
	}
	return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

/* Finds which task of which step this process is. false: it belongs to no step; a warning says so. */
static bool find_task(struct job_step *task)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"),
		   *rank = getenv("SLURM_PROCID");

	*task = (struct job_step){.world_size = 1};
	if (job && step && rank) {
		snprintf(task->key, sizeof(task->key), "task.%s.%s.%s", job, step, rank);
		return true;
	}
	log_error("not a task of a Slurm step: SLURM_JOB_ID, SLURM_STEP_ID or SLURM_PROCID is "
		  "not set");
	return false;
}

static bool lock_end(struct step_dir *dir, const struct job_step *task)
{
	int r = step_dir_lock(dir, task, NULL);

	if (r)
		log_error("no directory by which to wait for the end: %s", strerror(-r));
	return r == 0;
}

static int start_task(struct task *task)
{
	struct job_step identity;
	int guard = task->hook, r;

	if (!find_task(&identity))
		return EXIT_FAILED;
	if (task->hook < 0 && lock_end(&task->end, &identity))
		guard = task->end.lock;
	if (pipe2(task->environment, O_CLOEXEC) < 0) {
		log_error("%s", strerror(errno));
		return EXIT_FAILED;
	}
	const int kept[BACKGROUND_KEPT] = {task->environment[1], guard};
	r = background_start(run_task, task, kept, READY_MS);
	close(task->environment[1]);
	if (r && r != -ECHILD)
		log_error("%s", strerror(-r));
	r = r ? EXIT_FAILED : print_environment(task->environment[0]);
	close(task->environment[0]);
	if (r)
		log_warning("this task runs unprofiled");
	return r;
}

static int begin(const char *program, int argc, char **argv)
{
	struct task task = {.program = program, .title = "a step of Slurm", .hook = -1};
	const struct option_table *table = &option_table_step;
	const char *hook = NULL;
	const struct option_target targets[] = {
		{"pid", .pid = &task.pid},
		{"hook", .text = &hook},
		{"title", .text = &task.title},
	};
	int status = option_line_parse(table, targets, 3, argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	status = EXIT_USAGE;
	if (hook)
		task.hook = atoi(hook);
	if (task.pid <= 0)
		log_error("begin: no process given (--pid)");
	else if (task.hook != -1 && (task.hook <= STDERR_FILENO || fcntl(task.hook, F_GETFD) < 0))
		log_error("begin: --hook %d: not a socket", task.hook);
	else if (read_options(&task.options, argc - optind, argv + optind))
		status = start_task(&task);
	step_options_fini(&task.options);
	return status;
}

/* ---- end */

static volatile sig_atomic_t too_late;

static void on_alarm(int signal)
{
	too_late = signal;
}

static int end(void)
{
	const struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART: flock() ends */
	struct job_step identity;
	struct step_dir dir;

	sigaction(SIGALRM, &action, NULL);
	alarm(END_S);
	if (!find_task(&identity) || !lock_end(&dir, &identity))
		return EXIT_FAILED;
	step_dir_remove(&dir);
	if (too_late)
		log_warning("what this task recorded is not written yet");
	return too_late ? EXIT_FAILED : EXIT_OK;
}

int verb_step(const char *program, int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	open_streams();
	if (strcmp(what, "check") == 0)
		return check(program, argc - 2, argv + 2);
	if (strcmp(what, "begin") == 0)
		return begin(program, argc - 1, argv + 1);
	if (strcmp(what, "hold") == 0)
		return hold(argc - 2, argv + 2);
	if (strcmp(what, "end") == 0 && argc == 2)
		return end();
	const struct option_target none = {.name = NULL};
	int status = option_line_parse(&option_table_step, &none, 1, argc, argv);

	return status != OPTION_LINE_GO
		       ? status
		       : option_line_refuse(&option_table_step, "%s: not check, begin or end",
					    *what ? what : "nothing given");
}
