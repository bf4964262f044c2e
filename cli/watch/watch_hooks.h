/* Runs a command for each event of a watch. It is the user's own, which the shell runs as it is: what an event names
 * is never put into it. An event is a line of JSON on its standard input, and in its environment:
 *
 *	FLAMEGRID_WATCH_EVENT    late, recovered, stalled, slow, missing or came
 *	FLAMEGRID_WATCH_NAME     "rank 5 on node2"
 *	FLAMEGRID_WATCH_TEXT     the line that people read
 *	FLAMEGRID_WATCH_PROFILE  the profile
 *
 * Commands run beside the watch, WATCH_HOOKS_MAX at once, and each is killed after WATCH_HOOKS_NS, with its process
 * group. What a command that has ended left in the background goes on. A warning says what
 * failed. Single-threaded; no other children may be waited for by pid -1 meanwhile. */
#ifndef WATCH_HOOKS_H
#define WATCH_HOOKS_H

#include <stdint.h>
#include <sys/types.h>

#include "report/watch/watch_events.h"

#define WATCH_HOOKS_MAX     8u
#define WATCH_HOOKS_NS      60000000000ull
#define WATCH_HOOKS_STOP_NS 2000000000ull

struct watch_hooks {
	const char *command,
		*profile; /* borrowed until watch_hooks_finish(); command NULL: none is run */
	struct watch_hook {
		pid_t pid;         /* and its process group; 0: this place is free */
		uint64_t until_ns; /* CLOCK_MONOTONIC */
	} running[WATCH_HOOKS_MAX];
};

/* Starts the command, whose output goes to standard error. */
void watch_hooks_start(struct watch_hooks *hooks, const struct watch_event *event, uint64_t now_ns);

/* Looks for commands that have ended, and kills those that ran too long. Returns how many still run. */
uint32_t watch_hooks_look(struct watch_hooks *hooks, uint64_t now_ns);

/* Waits for those that run, for so long at most, and kills the others. stop: a descriptor that, once readable, leaves
 * them WATCH_HOOKS_STOP_NS; -1: none. */
void watch_hooks_finish(struct watch_hooks *hooks, uint64_t wait_ns, int stop);

#endif
