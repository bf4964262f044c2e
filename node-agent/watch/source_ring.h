/* Creates the kernel's buffer of a bpf_source, with the size that its options ask for, if the agent may have it.
 * Single-threaded. */
#ifndef SOURCE_RING_H
#define SOURCE_RING_H

#include "node-agent/kernel/bpf_rights.h"
#include "node-agent/kernel/bpf_ring.h"

struct bpf_options;

/* Creates the buffer. lost: what the user loses if that fails (bpf_rights.h). 0; -ECANCELED: *ring is NULL, and line
 * says what the kernel does not allow. Event and context as in bpf_ring_create(). */
int source_ring_create(const struct bpf_options *options, const char *lost, bpf_ring_event event,
		       void *context, struct bpf_ring **ring,
		       char line[static BPF_RIGHTS_LINE_MAX]);

#endif
