#include "program_ranges.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "inject/base/lifecycle.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "inject/window/capture_window.h"
#include "inject/window/profiler_range.h"
#include "inject/window/window_steps.h"
#include "proto/handshake.h"
#include "proto/options/metric_options.h"
#include "proto/options/record_options.h"
#include "proto/options/window_options.h"

/* Constant once program_ranges_on() has returned. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct nvtx_names *names;
static struct window_options window; /* as the environment has it */
static struct window_steps steps;

/* Opens a window, but not in a forked child: it has no windows, and its copy of their lock may be held for good. */
static void range_opens(void)
{
	if (lifecycle_state() != LIFECYCLE_FORKED && window_steps_begin(&steps))
		capture_window_range(true);
}

static void range_closes(void)
{
	if (lifecycle_state() != LIFECYCLE_FORKED && window_steps_end(&steps))
		capture_window_range(false);
}

/* Measured ranges are frames, too. */
static bool are_frames(void)
{
	uint32_t record;

	return metric_options_are_of_ranges(getenv(METRIC_OPTIONS_ENV)) ||
	       (record_options_parse(getenv(RECORD_OPTIONS_ENV), &record) == 0 &&
		record & RECORD_OPTION_NVTX);
}

/* Decides as the guest's entry point for CUDA does. */
static bool may_have_agent(void)
{
	const char *socket_path = getenv(HANDSHAKE_SOCKET_ENV);

	return socket_path && *socket_path && !getauxval(AT_SECURE);
}

/* Watches for the range here, because ranges may open before CUDA starts and be open then. */
static void look_at_options(void)
{
	enum nvtx_digits digits;

	if (!may_have_agent())
		return;
	window_options_parse(getenv(WINDOW_OPTIONS_ENV), &window);
	if (window.range == WINDOW_RANGE_PROFILER)
		profiler_range_on(window.every);
	if (window.range != WINDOW_RANGE_NVTX && !are_frames())
		return;
	nvtx_digits_parse(getenv(NVTX_DIGITS_ENV), &digits);
	names = nvtx_ranges_on(digits);
	if (names && window.range == WINDOW_RANGE_NVTX) {
		steps.every = window.every;
		nvtx_ranges_watch(window.range_name, range_opens, range_closes);
	}
}

struct nvtx_names *program_ranges_on(void)
{
	pthread_once(&once, look_at_options);
	return names;
}

bool program_ranges_end_windows(void)
{
	return window.range == WINDOW_RANGE_NVTX;
}
