/* A uprobe that runs a BPF program in one process. Any thread. */
#ifndef PROBE_EVENT_H
#define PROBE_EVENT_H

#include <sys/types.h>

struct probe_note;

/* From the return on, until *fd is closed, the program runs where any thread of the process comes by the probe, and the
 * process's counter of watchers says so. path: of the file that the process has mapped. The caller owns *fd. 0 or
 * -errno; on error *fd is -1. */
int probe_event_open(const char *path, const struct probe_note *note, pid_t pid, int program_fd,
		     int *fd);

/* What the kernel says to the calling thread about a probe that is nowhere: -EACCES where it may have none. */
int probe_event_try(void);

#endif
