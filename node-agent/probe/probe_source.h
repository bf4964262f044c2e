/* Collects launch stacks that the kernel walks. The guest's probe (inject/launch/launch_probe.h) is watched soon after
 * the guest has arrived. Its stacks are kept until the launches come by the guest's ring (probe_stacks.h).
 *
 * If the kernel does not allow this, one line says so, and guests walk their stacks themselves. A build without BPF has
 * only that line. Single-threaded: only the agent loop calls it. */
#ifndef PROBE_SOURCE_H
#define PROBE_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/stack_source.h"

#define PROBE_SOURCE_RING_DEFAULT (32u << 20) /* bytes: 30,000 stacks between two passes */

struct probe_source;
struct probe_stacks;

struct probe_source_options {
	enum stack_source source;
	uint32_t ring_bytes; /* rounded up to a power of two of pages; 0: the default */
};

/* Creates the source. If STACK_SOURCE_UPROBE is not wanted, or not allowed, it returns 0 and *source is NULL, which all
 * functions below accept. notice is borrowed until probe_source_destroy(). 0 or -ENOMEM. */
int probe_source_create(const struct probe_source_options *options,
			void (*notice)(void *context, const char *line), void *context,
			struct probe_source **source);
void probe_source_destroy(struct probe_source *source);

/* Watches the probe of a new guest, for which the kernel may take tens of milliseconds. If an earlier guest had this
 * pid, its stacks are read first, and its probe is left. NULL: the probe can't be watched, which a notice says, and the
 * guest must walk its own stacks. Borrowed until it is detached. */
struct probe_stacks *probe_source_attach(struct probe_source *source, pid_t pid);

/* Stops watching a guest's probe. Accepts NULL. */
void probe_source_detach(struct probe_source *source, struct probe_stacks *stacks);

/* Reads all stacks of launches whose counters were read from the guests' rings before. 0; 1: one stack is still being
 * written, call again soon; -errno: the agent can't go on. */
int probe_source_pass(struct probe_source *source, uint64_t now_ns);

/* Counts of one guest: events for which the kernel had no room, and stacks that came. */
struct probe_source_counts {
	uint64_t lost, received;
};
void probe_source_counts(const struct probe_source *source, const struct probe_stacks *stacks,
			 struct probe_source_counts *counts);

#endif
