/* Runs a part of this program in a process of its own, apart from the terminal and from the process that started it.
 * Call it before any thread is started. */
#ifndef BACKGROUND_H
#define BACKGROUND_H

#include <sys/types.h>

#define BACKGROUND_KEPT 2

/* background_start() forks, and runs body in the new process. That process is no child of ours, and has a session of
 * its own. Its standard input and output are /dev/null, and its error stream is ours. Of our other descriptors it has
 * only those in kept (-1: none). It ends when body returns. body calls background_ready(ready) when it is ready;
 * background_start() then returns 0. -ECHILD: the process ended before that; -ETIMEDOUT; other -errno. */
int background_start(void (*body)(void *argument, int ready), void *argument,
		     const int kept[static BACKGROUND_KEPT], int timeout_ms);
void background_ready(int ready);

/* As background_start(), for a body with which the caller talks. *control becomes the body's end of a socket
 * (SOCK_SEQPACKET), before the body runs; *fd is the caller's end, -1 on error. *group: of background_leave(). */
int background_start_talking(void (*body)(void *argument, int ready), void *argument, int *control,
			     int timeout_ms, int *fd, pid_t *group);

/* Makes the body's processes go on alone: from now on their messages go nowhere, because a launcher such as Slurm
 * waits until nobody holds the error stream. It lets those go on that somebody has stopped (SIGSTOP). So do processes
 * of background_start() that they have started. group: the process group; 0: none. Any number of calls are one. */
void background_leave(pid_t group);

#endif
