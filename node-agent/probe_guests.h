/* The guests whose launch stacks the kernel walks: which of them are watched, and in what order they and the kernel are
 * read. Single-threaded: only the agent loop calls it. A source of NULL: guests walk their stacks themselves. */
#ifndef PROBE_GUESTS_H
#define PROBE_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct probe_source;
struct process_table;

/* Watches one guest that is not yet: the kernel may take longer for that than a guest waits for its welcome, so it
 * comes after that, and others get theirs in between. true: there may be more. */
bool probe_guests_watch_one(struct probe_source *source, struct process_table *processes);

/* Before the guests' rings are read: what they have published is fixed first, so that each stack has come by then. 1:
 * one has not; 0; -errno. */
int probe_guests_pass(struct probe_source *source, struct process_table *processes,
		      uint64_t now_ns);

#endif
