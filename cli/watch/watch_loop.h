/* Looks at a running job's profile again and again, and tells who is late (report/watch/watch_events.h). After a look
 * that took CPU time t it waits for WATCH_LOOP_COST times t: WATCH_LOOP_MS at least, WATCH_LOOP_MAX_MS at most. It ends
 * with the job. Single-threaded; SQLite must not have the profile open elsewhere in this process. */
#ifndef WATCH_LOOP_H
#define WATCH_LOOP_H

#include <stdint.h>

#include "report/watch/watch_events.h"

#define WATCH_LOOP_MS     1000u
#define WATCH_LOOP_MAX_MS 10000u
#define WATCH_LOOP_COST   8u

struct watch_loop {               /* strings are borrowed */
	const char *profile_path; /* a directory, or a store */
	const char *command;      /* watch_hooks.h */
	/* Tells people of an event, whose command runs already. 0; -errno ends the watch. */
	int (*tell)(void *context, const struct watch_event *event);
	void *context;
	int stop;               /* a descriptor that ends the watch when it is readable; -1: none */
	uint64_t linger_ns;     /* for so long commands may still run after the end */
	uint64_t begin_wait_ns; /* for so long the profile need not be there yet */
};

/* 0: the job has ended, or the watch was stopped; -errno of tell(), or of the profile, which a message has told. */
int watch_loop_run(const struct watch_loop *loop);

#endif
