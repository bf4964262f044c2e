/* Watches a running process and all processes that it has started. */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <sys/types.h>

struct bpf_ring;

/* Watches the threads of a process and its descendants from now on. It finds them in /proc; the kernel's half follows
 * the processes that they start later. 0 or -errno: the process itself cannot be watched. */
int descendants_watch(struct bpf_ring *ring, pid_t pid);

#endif
