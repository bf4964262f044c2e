/* The lock around all calls of CUPTI's that measure, and waits for the GPU that give it back meanwhile. From a measured
 * launch's enter to its exit the launching thread holds it, but for such waits. While it is held, no thread begins a
 * capture, unless it waited METRICS_LOCK_FIRST_S in vain. Any thread. */
#ifndef METRICS_LOCK_H
#define METRICS_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The most that a capture's begin, a launch of NCCL's or a range's end waits; and all others, such as the begin of a
 * range, a launch beside a range, and the end of a context or a run. */
#define METRICS_LOCK_FIRST_S    10
#define METRICS_LOCK_CALLBACK_S 1

struct device_counters;

/* Each returns whether the thread holds it now. A capture's begin, and a launch of a kernel that waits for other GPUs,
 * go first: they wait for one thread's calls of CUPTI's at most. metrics_lock_try() fails while they wait. */
bool metrics_lock_try(void);
bool metrics_lock_take(time_t seconds);
bool metrics_lock_take_first(void);

void metrics_lock_release(void);

/* A wait, and the question whether it goes on, which is asked with the lock, after each time without. */
struct metrics_lock_wait {
	const struct device_counters *counters;
	bool (*goes_on)(uint32_t id);
	uint32_t id;
};

/* Waits for the work that the counters' context has until now; where the driver cannot tell (idle_context.h), not at
 * all. The lock is held, but not all the time. Returns the last goes_on(). */
bool metrics_lock_wait(const struct metrics_lock_wait *wait);

/* The same, and for what other threads launched meanwhile, since CUPTI would wait for that. Threads that launch all the
 * time are not waited for. */
bool metrics_lock_wait_for_all(const struct metrics_lock_wait *wait);

#endif
