#include "clock_sample.h"

#include <errno.h>

#include "cupti_library.h"

#include "inject/base/monotonic.h"

#define SAMPLES 20

int clock_sample_take(const struct cupti_library *library, struct definition_clock *clock)
{
	struct definition_clock best = {.error_ns = UINT64_MAX};

	*clock = (struct definition_clock){0};
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t cupti_ns = 0;
		uint64_t before_ns = monotonic_ns();
		int result = library->get_timestamp(&cupti_ns);
		uint64_t wall_ns = realtime_ns();
		uint64_t after_ns = monotonic_ns();

		if (result != CUPTI_ABI_SUCCESS || cupti_ns == 0)
			return -EIO;
		if (after_ns - before_ns < best.error_ns)
			best = (struct definition_clock){
				.monotonic_ns = before_ns + (after_ns - before_ns) / 2,
				.realtime_ns = wall_ns,
				.cupti_ns = cupti_ns,
				.error_ns = after_ns - before_ns,
			};
	}
	*clock = best;
	return 0;
}
