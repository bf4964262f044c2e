/* Launch stacks that the kernel walks: the guest's probe (inject/launch/launch_probe.h) is watched soon after the
 * guest has come in, and what it tells is kept until the launches come by the guest's ring (probe_stacks.h). What
 * the kernel does not allow is said in one line, and guests walk their stacks themselves. Without BPF in the build
 * there is nothing but that line. Single-threaded: only the agent loop calls it. */
#ifndef PROBE_SOURCE_H
#define PROBE_SOURCE_H

#include <stdbool.h>
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

/* STACK_SOURCE_UPROBE is not asked for, or not allowed: 0 and *source is NULL, which everything below accepts. notice
 * is borrowed until probe_source_destroy(). 0 or -ENOMEM. */
int probe_source_create(const struct probe_source_options *options,
			void (*notice)(void *context, const char *line), void *context,
			struct probe_source **source);
void probe_source_destroy(struct probe_source *source);

/* A guest has come in: watches its probe, for which the kernel may take tens of milliseconds. What is there of an
 * earlier guest with this pid is read first, and its probe left. NULL: it can't be watched, which is said, and the
 * guest's own stacks are to be used. Borrowed until it is detached. */
struct probe_stacks *probe_source_attach(struct probe_source *source, pid_t pid);

/* NULL is accepted. */
void probe_source_detach(struct probe_source *source, struct probe_stacks *stacks);

/* Reads all stacks of launches whose counters were read from the guests' rings before. 0; 1: one of them is still being
 * written, call again soon; -errno: the agent can't go on. */
int probe_source_pass(struct probe_source *source, uint64_t now_ns);

/* Of a guest: events for which the kernel had no room; stacks that came. */
struct probe_source_counts {
	uint64_t lost, received;
};
void probe_source_counts(const struct probe_source *source, const struct probe_stacks *stacks,
			 struct probe_source_counts *counts);

#endif
