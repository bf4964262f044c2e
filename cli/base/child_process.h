/* Starts a program in a process group of its own, so that all of it can be killed, and a Ctrl-C is ours alone. Any
 * thread. */
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include <sys/types.h>

/* program: a path. fds: its standard input, output and error. It has no signals blocked or ignored. 0; -errno: *pid is
 * as it was. */
int child_process_start(const char *program, char *const *arguments, char *const *environment,
			const int fds[static 3], pid_t *pid);

#endif
