/* Why CUPTI can't be left at the end of a capture window (capture_window.h). Any thread. */
#ifndef LEAVE_OBSTACLE_H
#define LEAVE_OBSTACLE_H

#include <stdbool.h>

struct cupti_library;

enum leave_obstacle {
	LEAVE_OBSTACLE_NONE = 0,
	LEAVE_OBSTACLE_LIBRARY, /* this CUPTI can't be left */
	LEAVE_OBSTACLE_SHARED,  /* who shares the subscription would lose its session */
	/* what one thread launches on one GPU while CUPTI leaves, or comes back, may wait for what it or another would
	 * launch on the next */
	LEAVE_OBSTACLE_CONTEXTS,
	LEAVE_OBSTACLE_STEPS, /* cudaProfilerStart is counted, and would not be heard of before CUPTI is back */
	LEAVE_OBSTACLE_LASTING, /* a kernel that lasts may wait for the host */
};

/* Something is outstanding at an attempt to leave. What still is at the next attempt may be waiting for the host: as
 * long as this process has such kernels, to come back, which waits for them, would be as dangerous as to leave. One
 * thread at a time. */
void leave_obstacle_outstanding(void);

/* What it is that stays so. counts_steps: windows open at every so many calls of cudaProfilerStart. */
enum leave_obstacle leave_obstacle_now(const struct cupti_library *library, bool counts_steps);

/* A phrase for people, after ENDING time has passed without a moment to leave. outstanding: whether GPU work was.
 * Static storage. */
const char *leave_obstacle_text(enum leave_obstacle obstacle, bool outstanding);

#endif
