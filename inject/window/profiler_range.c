#include "profiler_range.h"

#include <stdatomic.h>

#include "capture_window.h"
#include "window_steps.h"

#include "inject/base/lifecycle.h"

static atomic_bool on;
static struct window_steps steps;
static _Atomic uint32_t nr_open; /* starts without their stop, where each is a range */

void profiler_range_on(uint32_t every)
{
	atomic_store(&steps.every, every);
	atomic_store(&on, true);
}

static bool is_on(void)
{
	return atomic_load(&on) && lifecycle_state() != LIFECYCLE_FORKED;
}

static bool is_counting(void)
{
	return atomic_load(&steps.every) > 1;
}

void profiler_range_start(void)
{
	if (!is_on() || !window_steps_start(&steps))
		return;
	if (!is_counting())
		atomic_fetch_add(&nr_open, 1);
	capture_window_range(true);
}

static bool take_open(void)
{
	uint32_t nr = atomic_load(&nr_open);

	while (nr > 0 && !atomic_compare_exchange_weak(&nr_open, &nr, nr - 1))
		;
	return nr > 0;
}

void profiler_range_stop(void)
{
	if (is_on() && (is_counting() ? window_steps_stop(&steps) : take_open()))
		capture_window_range(false);
}

uint64_t profiler_range_starts(void)
{
	return atomic_load(&steps.nr_begun);
}
