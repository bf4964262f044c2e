/* What the counters of a GPU say of its work and its traffic (GPM, device_telemetry.h), as readers want to know it.
 * Pure, any thread. */
#ifndef GPU_USE_H
#define GPU_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/device_telemetry.h"

#define GPU_USE_UNKNOWN (-1.0)

/* Returns whether uses can be told of the time in which the GPU computed, by its own counter. Not so where that is not
 * known for the same time, and where a use is greater than it: copies use the memory while nothing computes. */
bool gpu_use_is_of_work(const struct device_telemetry *sums);

/* Returns a mean from 0 to 1. That of TELEMETRY_COMPUTING is of all time, others are of the time in which the GPU
 * computed if gpu_use_is_of_work(), else of all time. GPU_USE_UNKNOWN: not known. */
double gpu_use_mean(const struct device_telemetry *sums, enum telemetry_use use);

/* Returns bytes a second, of all time. GPU_USE_UNKNOWN: not known. */
double gpu_use_rate(const struct device_telemetry *sums, enum telemetry_traffic traffic);

/* Returns the longest time for which something is known. 0: there is nothing. */
uint64_t gpu_use_known_ns(const struct device_telemetry *sums);

/* Adds one GPU's or life's sums to others. */
void gpu_use_add(struct device_telemetry *sums, const struct device_telemetry *more);

/* Returns whether a row can be. A damaged profile may have others. Times are at most max_ns. */
bool gpu_use_is_possible(const struct device_telemetry *row, uint64_t max_ns);

#endif
