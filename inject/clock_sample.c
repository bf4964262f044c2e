#include "clock_sample.h"

#include <errno.h>
#include <time.h>

#include "cupti_library.h"

#define SAMPLES 20

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int clock_sample_take(const struct cupti_library *library, struct definition_clock *clock)
{
	struct definition_clock best = {.error_ns = UINT64_MAX};

	*clock = (struct definition_clock){0};
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t cupti_ns = 0;
		uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
		int result = library->get_timestamp(&cupti_ns);
		uint64_t realtime_ns = clock_ns(CLOCK_REALTIME);
		uint64_t after_ns = clock_ns(CLOCK_MONOTONIC);

		if (result != CUPTI_ABI_SUCCESS || cupti_ns == 0)
			return -EIO;
		if (after_ns - before_ns < best.error_ns)
			best = (struct definition_clock){
				.monotonic_ns = before_ns + (after_ns - before_ns) / 2,
				.realtime_ns = realtime_ns,
				.cupti_ns = cupti_ns,
				.error_ns = after_ns - before_ns,
			};
	}
	*clock = best;
	return 0;
}
