/* Reads CLOCK_MONOTONIC, the clock of launches and deadlines, and CLOCK_REALTIME, which the nodes share. Times are in
 * ns. Any thread may call. Calls without another word go to the vDSO and make no system
 * call. */
#ifndef MONOTONIC_H
#define MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_now_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. This one makes a system call. */
static inline uint64_t thread_cpu_ns(void)
{
	return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t realtime_ns(void)
{
	return clock_now_ns(CLOCK_REALTIME);
}

#endif
