#include "exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define NS_PER_S 1000000000ull

void exporter_init(struct exporter *exporter, const struct exporter_options *options)
{
	*exporter = (struct exporter){.options = *options};
}

/* Signals to our terminal's processes are meant for the aggregator alone, as is a service's SIGTERM to all: the
 * aggregator's end is what counts. */
static void set_signals(posix_spawnattr_t *attributes)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	posix_spawnattr_init(attributes);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setsigmask(attributes, &blocked);
}

/* 0 or -errno. */
static int start(struct exporter *exporter)
{
	const struct exporter_options *options = &exporter->options;
	char *argv[9] = {(char *)options->program, (char *)"export", (char *)"--follow",
			 (char *)"--to", (char *)options->target};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ends[2], nr = 5;

	if (options->jobs_path) {
		argv[nr++] = (char *)"--jobs";
		argv[nr++] = (char *)options->jobs_path;
	}
	argv[nr] = (char *)options->store_path;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	int r = -posix_spawn_file_actions_init(&actions);
	if (r) {
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	set_signals(&attributes);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawn(&exporter->pid, options->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	if (r) {
		exporter->pid = 0;
		close(ends[1]);
		return r;
	}
	exporter->end_fd = ends[1];
	return 0;
}

static void look_for_end(struct exporter *exporter, uint64_t now_ns)
{
	int status;

	if (waitpid(exporter->pid, &status, WNOHANG) != exporter->pid)
		return;
	close(exporter->end_fd);
	exporter->pid = 0;
	exporter->start_at_ns = now_ns + EXPORTER_RESTART_S * NS_PER_S;
	if (WIFSIGNALED(status))
		log_error("exports were ended by signal %d; they start again in %u s",
			  WTERMSIG(status), EXPORTER_RESTART_S);
	else
		log_error("exports ended with status %d; they start again in %u s",
			  WEXITSTATUS(status), EXPORTER_RESTART_S);
}

void exporter_step(struct exporter *exporter, uint64_t now_ns)
{
	if (!exporter)
		return;
	if (exporter->pid)
		look_for_end(exporter, now_ns);
	if (exporter->pid || now_ns < exporter->start_at_ns)
		return;
	int status = start(exporter);
	if (status) {
		exporter->start_at_ns = now_ns + EXPORTER_RESTART_S * NS_PER_S;
		log_error("%s: nothing is exported: %s; exports start again in %u s",
			  exporter->options.program, strerror(-status), EXPORTER_RESTART_S);
	}
}
