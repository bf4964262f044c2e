#include "clock.h"

#define NS_PER_S 1000000000u
#define READINGS 5

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_realtime_offset_ns(void)
{
	uint64_t best_ns = UINT64_MAX;
	int64_t offset_ns = 0;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before_ns = clock_now_ns();
		uint64_t real_ns = clock_realtime_ns();
		uint64_t took_ns = clock_now_ns() - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		offset_ns = (int64_t)(real_ns - (before_ns + took_ns / 2));
	}
	return offset_ns;
}

struct timespec clock_in(clockid_t clock, uint64_t wait_ns)
{
	uint64_t at_ns = read_clock(clock) + wait_ns;

	return (struct timespec){(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)};
}
