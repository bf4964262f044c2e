/* The clock of guest_bench --cold: the time-stamp counter, which waits for all that came before; nanoseconds on other
 * machines. */
#ifndef COLD_CLOCK_H
#define COLD_CLOCK_H

#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <time.h>
#endif

static inline uint64_t cold_clock_now(void)
{
#if defined(__x86_64__)
	_mm_lfence();
	uint64_t now = __rdtsc();
	_mm_lfence();
	return now;
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

#endif
