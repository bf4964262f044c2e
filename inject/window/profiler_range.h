/* The range between the calls that begin and end a capture: cudaProfilerStart and cudaProfilerStop, or flamegrid_start
 * and flamegrid_stop (api/flamegrid.h). Any thread. */
#ifndef PROFILER_RANGE_H
#define PROFILER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Such calls open and close capture windows from now on, as they may before CUDA starts. every: at one of that many
 * steps (window_steps.h; 0, 1: at all). A later call must have the same number. */
void profiler_range_on(uint32_t every);

/* Tell of a call that begins the range, or ends it. A stop without its start is ignored. They do nothing in a forked
 * child. Outside of CUPTI's callbacks, or at the exit (start) or entry (stop) of the driver's own call. errno is
 * kept. */
void profiler_range_start(void);
void profiler_range_stop(void);

/* The number of starts so far, where steps are counted by them. */
uint64_t profiler_range_starts(void);

#endif
