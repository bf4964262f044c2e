#include "job_reports.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_dir.h"

#include "base/log.h"

#define AT_ONCE 2u

struct waiting {
	struct waiting *next;
	pid_t pid; /* 0: not started */
	bool coarse;
	char path[];
};

struct job_reports {
	char *program;         /* owns; NULL: none */
	struct waiting *first; /* owns the list */
};

struct job_reports *job_reports_create(const char *program)
{
	struct job_reports *reports = calloc(1, sizeof(*reports));

	if (!reports)
		return NULL;
	reports->program = program ? strdup(program) : NULL;
	if (!program || reports->program)
		return reports;
	free(reports);
	return NULL;
}

void job_reports_destroy(struct job_reports *reports)
{
	if (!reports)
		return;
	for (struct waiting *job = reports->first, *next; job; job = next) {
		next = job->next;
		if (job->pid > 0) {
			kill(job->pid, SIGKILL);
			while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		free(job);
	}
	free(reports->program);
	free(reports);
}

int job_reports_add(struct job_reports *reports, const char *path, bool coarse)
{
	size_t size = strlen(path) + 1;
	struct waiting *job = malloc(sizeof(*job) + size), **last = &reports->first;

	if (!job)
		return -ENOMEM;
	*job = (struct waiting){.coarse = coarse};
	memcpy(job->path, path, size);
	while (*last)
		last = &(*last)->next;
	*last = job;
	return 0;
}

static int start(const struct job_reports *reports, struct waiting *job)
{
	char *const argv[] = {
		reports->program,  (char *)"report",
		(char *)"--files", (char *)(job->coarse ? "--lines=off" : "--lines=on"),
		job->path,         NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t ours;
	int r = -posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	posix_spawnattr_init(&attributes);
	/* Signals to our terminal's processes are meant for the aggregator alone. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	posix_spawnattr_setsigdefault(&attributes, &ours);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawn(&job->pid, reports->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		job->pid = 0;
	return r;
}

static void finish(const char *path, bool written)
{
	int r = job_dir_finish(path);

	if (!written)
		log_error("%s: its reports could not be written (flamegrid report --files makes "
			  "them)",
			  path);
	else
		log_info("%s is complete", path);
	if (r)
		log_error("%s/" JOB_DIR_CLOSED ": %s", path, strerror(-r));
}

/* Returns whether the job's reports are finished. */
static bool look(struct waiting *job)
{
	int status;
	pid_t pid = waitpid(job->pid, &status, WNOHANG);

	if (pid == 0 || (pid < 0 && errno == EINTR))
		return false;
	finish(job->path, pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

/* Returns whether the job's reports are finished, or could not begin. */
static bool begin(const struct job_reports *reports, struct waiting *job)
{
	if (reports->program && start(reports, job) == 0)
		return false;
	finish(job->path, !reports->program);
	return true;
}

bool job_reports_step(struct job_reports *reports)
{
	unsigned int running = 0;

	for (struct waiting **at = &reports->first, *job; (job = *at) != NULL;) {
		bool done = false;

		if (job->pid)
			done = look(job);
		else if (running < AT_ONCE)
			done = begin(reports, job);
		running += !done && job->pid;
		if (!done) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		free(job);
	}
	return reports->first != NULL;
}
