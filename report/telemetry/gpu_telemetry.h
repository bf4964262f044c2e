/* The telemetry of one GPU (device_telemetry.h), over all lives of agents, and what readers want to know of it. Pure,
 * any thread. */
#ifndef GPU_TELEMETRY_H
#define GPU_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/placement_log.h"
#include "proto/device_telemetry.h"

/* Sums up the rows of the store's device. Where two agents watched it at the same time, the rows of one count: those of
 * the first, or a row that saw more than twice as much. A row that cannot be, as of a damaged profile, is left out.
 * Without rows all is zero. The rows are sorted by device and begin_ns. */
void gpu_telemetry_of(const struct placement_log *log, uint32_t device,
		      struct device_telemetry *sums);

/* The same of rows that have time between start_ns and end_ns, CLOCK_REALTIME of the GPU's node. */
void gpu_telemetry_between(const struct placement_log *log, uint32_t device, uint64_t start_ns,
			   uint64_t end_ns, struct device_telemetry *sums);

/* Gives the rows that are summed up to take(), in order of time. */
typedef void gpu_telemetry_take(void *context, const struct device_telemetry *row);
void gpu_telemetry_each(const struct placement_log *log, uint32_t device, uint64_t start_ns,
			uint64_t end_ns, gpu_telemetry_take *take, void *context);

/* Adds one GPU's or life's sums to others: times and amounts add up, extremes remain. */
void gpu_telemetry_add(struct device_telemetry *sums, const struct device_telemetry *more);

/* Return means while the GPU was not idle, in MHz, and over all its time, in watts. 0: not known. */
double gpu_telemetry_sm_mhz(const struct device_telemetry *sums);
double gpu_telemetry_memory_mhz(const struct device_telemetry *sums);
double gpu_telemetry_watts(const struct device_telemetry *sums);

/* Returns the time for which the reasons are known and the GPU was not idle. */
uint64_t gpu_telemetry_working_ns(const struct device_telemetry *sums);

/* Returns the part of it in which something held the clocks. *longest: by what for the longest time. */
uint64_t gpu_telemetry_held_ns(const struct device_telemetry *sums, enum telemetry_reason *longest);

/* Return words for people ("power cap"; "NVML hangs") and for programs ("sw_power_cap"; "hangs"). Static storage. A
 * refusal of a newer agent is "unknown". */
const char *gpu_telemetry_reason_words(enum telemetry_reason reason);
const char *gpu_telemetry_reason_name(enum telemetry_reason reason);
const char *gpu_telemetry_refusal_words(uint32_t refusal);
const char *gpu_telemetry_refusal_name(uint32_t refusal);

#endif
