/* A process that runs already and all that it has started: their threads are looked at from now on. */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <sys/types.h>

struct bpf_ring;

/* Reads /proc; what they start later is followed by the kernel's half. 0 or -errno: the process itself cannot be
 * watched. */
int descendants_watch(struct bpf_ring *ring, pid_t pid);

#endif
