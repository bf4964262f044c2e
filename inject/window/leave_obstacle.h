/* Why CUPTI can't be left at the end of a capture window (capture_window.h). Any thread. */
#ifndef LEAVE_OBSTACLE_H
#define LEAVE_OBSTACLE_H

#include <stdbool.h>

struct cupti_library;

enum leave_obstacle {
	LEAVE_OBSTACLE_NONE = 0,
	LEAVE_OBSTACLE_LIBRARY, /* this CUPTI can't be left */
	LEAVE_OBSTACLE_SHARED, /* another user shares the subscription, and would lose its session */
	/* while CUPTI leaves or comes back, work on one GPU may wait for work that a thread would launch on the next */
	LEAVE_OBSTACLE_CONTEXTS,
	/* a cudaProfilerStart would be missed until CUPTI is back, and its range with it */
	LEAVE_OBSTACLE_PROFILER,
	LEAVE_OBSTACLE_SAMPLING, /* CUPTI samples kernels, and nobody says that it can be left then */
	LEAVE_OBSTACLE_METRICS,
	LEAVE_OBSTACLE_LASTING, /* a kernel that lasts may wait for the host */
};

/* Tells that work is outstanding at an attempt to leave. Work that is still outstanding at the next attempt may wait
 * for the host. While this process has such kernels, to come back would be as dangerous as to leave, as both wait for
 * them. One thread at a time. */
void leave_obstacle_outstanding(void);

/* The obstacle that lasts. by_profiler: calls of cudaProfilerStart open windows. */
enum leave_obstacle leave_obstacle_now(const struct cupti_library *library, bool by_profiler);

/* A phrase for people, for a window that found no moment to leave. outstanding: whether GPU work was outstanding. The
 * result is static. */
const char *leave_obstacle_text(enum leave_obstacle obstacle, bool outstanding);

#endif
