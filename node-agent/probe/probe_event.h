/* Opens a uprobe that runs a BPF program in one process. Any thread. */
#ifndef PROBE_EVENT_H
#define PROBE_EVENT_H

#include <sys/types.h>

struct probe_note;

/* Runs the program, until *fd is closed, whenever a thread of the process reaches the probe. Meanwhile the process's
 * counter of watchers is raised. path: a file that the process has mapped. The caller owns *fd. 0 or -errno; on error
 * *fd is -1. */
int probe_event_open(const char *path, const struct probe_note *note, pid_t pid, int program_fd,
		     int *fd);

/* Returns the kernel's answer to the calling thread about a probe that lies nowhere: -EACCES if the thread may have no
 * probe. */
int probe_event_try(void);

#endif
