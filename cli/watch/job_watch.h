/* Watches the job of a `run`, in a process of its own with low priority, apart from the agent and the aggregator:
 * events are messages of the run. Call it before any thread is started. */
#ifndef JOB_WATCH_H
#define JOB_WATCH_H

#include <stdbool.h>

#define JOB_WATCH_LOG "log" /* in place of a command: events are messages alone */

struct job_watch { /* zeroed: there is none */
	bool runs;
	int fd; /* the watch ends when it is closed */
};

/* wanted: JOB_WATCH_LOG, or a command as of watch_hooks.h; NULL: no watch. The profile's directory exists; its store
 * may come later. A warning says if the watch cannot be started, or is killed, which harms nothing else. */
void job_watch_start(struct job_watch *watch, const char *profile_path, const char *wanted);

/* Ends it, if there is one. It gives a running command two seconds. */
void job_watch_stop(struct job_watch *watch);

#endif
