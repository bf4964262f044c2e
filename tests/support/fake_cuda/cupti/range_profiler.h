/* CUPTI's range profiler with user ranges, and its host part, as an H200 with CUPTI 13.0 was seen to behave
 * (inject/metrics/metrics_session.h). A metric of a kernel is a number that follows from both names: 1 + FNV-1a of
 * "METRIC:KERNEL" modulo 1,000,000. A range has the sum over the kernels that its device was given while it was open.
 * A device's counters are PC sampling's or the range profiler's: whichever comes second is refused.
 * "sm__throughput…" takes three passes, all else one. FAKE_CUDA_METRICS is where the ranges are written at exit, a line
 * each: CUDA ordinal, passes, kernels (with '+' between them), tab-separated. Any thread. */
#ifndef RANGE_PROFILER_H
#define RANGE_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim_trace.h"

/* Returns whether a session has a device's counters. */
bool range_profiler_has(uint32_t device_ordinal);

/* An operation was submitted; only kernels count. */
void range_profiler_record(const struct sim_operation *operation);

#endif
