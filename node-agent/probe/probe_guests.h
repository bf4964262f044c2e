/* Guests whose launch stacks a BPF program walks: starts to watch them, and reads them and the kernel's buffer in the
 * right order. Single-threaded: only the agent loop calls it. source NULL: guests walk their stacks themselves. */
#ifndef PROBE_GUESTS_H
#define PROBE_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct probe_source;
struct process_table;

/* Watches one guest that is not watched yet. The kernel may take longer for that than a guest waits for its welcome. So
 * the welcome comes first, and other guests get theirs in between. true: there may be more. */
bool probe_guests_watch_one(struct probe_source *source, struct process_table *processes);

/* Call it before the guests' rings are read. It notes how far the rings are written, then reads the kernel's buffer, so
 * that the stack of each launch up to there is known. 1: a stack has not come yet; 0; -errno. */
int probe_guests_pass(struct probe_source *source, struct process_table *processes,
		      uint64_t now_ns);

#endif
