#include "child_process.h"

#include <signal.h>
#include <spawn.h>
#include <stddef.h>

int child_process_start(const char *program, char *const *arguments, char *const *environment,
			const int fds[static 3], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t started;

	sigemptyset(&none);
	sigfillset(&all);
	int r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	for (int i = 0; i < 3 && !r; i++)
		r = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (!r)
		r = posix_spawn(&started, program, &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (!r)
		*pid = started;
	return -r;
}
