#include "realtime_offset.h"

#include <time.h>

#define READINGS 5

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t realtime_offset_read(void)
{
	int64_t best_ns = INT64_MAX, offset_ns = 0;

	for (int i = 0; i < READINGS; i++) {
		int64_t before_ns = read_clock(CLOCK_MONOTONIC);
		int64_t real_ns = read_clock(CLOCK_REALTIME);
		int64_t took_ns = read_clock(CLOCK_MONOTONIC) - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		offset_ns = real_ns - (before_ns + took_ns / 2);
	}
	return offset_ns;
}
