#include "exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

int exporter_start(const struct exporter_options *options)
{
	char *argv[9] = {(char *)options->program, (char *)"export", (char *)"--follow",
			 (char *)"--to", (char *)options->target};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid;
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
	posix_spawnattr_init(&attributes);
	/* Signals to our terminal's processes are meant for the aggregator alone. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawn(&pid, options->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	if (r)
		close(ends[1]);
	return r;
}
