/* Shows on a terminal that a long task goes on. After two seconds a line on standard error says what is done, and for
 * how long; it is gone at the end. A thread of its own writes it. The caller is the main thread. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_AFTER_MS 2000u

struct progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	const char *what; /* static storage */
	uint64_t start_ns;
	bool runs, is_ending;
};

/* Begins. what is static storage: "reading the profile". Does nothing unless standard error is a terminal and notices
 * are shown (base/log.h). */
void progress_start(struct progress *progress, const char *what);

/* Says that something else is done now. */
void progress_say(struct progress *progress, const char *what);

/* Ends, and removes the line. It does nothing if it has not begun, or has ended. Call it before any other output. */
void progress_stop(struct progress *progress);

#endif
