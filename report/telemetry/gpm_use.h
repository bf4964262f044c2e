/* What the counters of a GPU say of its work and its traffic (GPM, device_telemetry.h), as readers want to know it.
 * Pure, any thread. */
#ifndef GPM_USE_H
#define GPM_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/device_telemetry.h"

#define GPM_USE_UNKNOWN (-1.0)

/* Returns whether uses can be told of the time in which the GPU computed, by its own counter. Not so where that is not
 * known for the same time, and where a use is greater than it: copies use the memory while nothing computes. */
bool gpm_use_is_of_work(const struct device_telemetry *sums);

/* Returns a mean from 0 to 1. That of TELEMETRY_COMPUTING is of all time, others are of the time in which the GPU
 * computed if gpm_use_is_of_work(), else of all time. GPM_USE_UNKNOWN: not known. */
double gpm_use_mean(const struct device_telemetry *sums, enum telemetry_use use);

/* Returns bytes a second, of all time. GPM_USE_UNKNOWN: not known. */
double gpm_use_rate(const struct device_telemetry *sums, enum telemetry_traffic traffic);

/* Returns the longest time for which something is known. 0: there is nothing. */
uint64_t gpm_use_known_ns(const struct device_telemetry *sums);

/* Adds one GPU's or life's sums to others. */
void gpm_use_add(struct device_telemetry *sums, const struct device_telemetry *more);

/* Returns whether a row can be. A damaged profile may have others. Times are at most max_ns. */
bool gpm_use_is_possible(const struct device_telemetry *row, uint64_t max_ns);

#endif
