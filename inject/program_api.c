/* The guest's entry point for programs that include api/flamegrid.h, whose contracts hold here. */
#include "program_api.h"

#include <errno.h>
#include <stddef.h>

#include "callback_dispatch.h"
#include "program_ranges.h"
#include "program_steps.h"

#include "inject/cupti/stream_names.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "inject/window/profiler_range.h"

static void range_push(const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
}

static void range_pop(void)
{
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
}

/* The step's range may end a window, after which no mark is recorded. */
static void step_ends(void)
{
	program_steps_end();
	if (program_ranges_end_windows())
		callback_dispatch_mark(RECORD_MARK_STEP_END, 0);
}

static void step(void)
{
	struct nvtx_text text;

	step_ends();
	nvtx_text_ascii(&text, "step");
	nvtx_ranges_step(&text);
	callback_dispatch_mark(RECORD_MARK_STEP, program_steps_begin());
}

static void step_end(void)
{
	step_ends();
	nvtx_ranges_step_end();
	callback_dispatch_mark(RECORD_MARK_STEP_END, 0);
}

static void name_stream(const void *stream, const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	stream_names_set(stream, text.bytes, text.size);
}

const struct flamegrid_api *flamegrid_api_1(void)
{
	static const struct flamegrid_api api = {
		.size = sizeof(api),
		.range_push = range_push,
		.range_pop = range_pop,
		.step = step,
		.step_end = step_end,
		.start = profiler_range_start,
		.stop = profiler_range_stop,
		.name_stream = name_stream,
	};
	int saved_errno = errno;

	program_ranges_on();
	errno = saved_errno;
	return &api;
}
