/* Asks NVML for the telemetry of all GPUs of this machine, as an agent does. Single-threaded; NVML is asked in a thread
 * that may outlive the question. */
#ifndef NVML_ANSWER_H
#define NVML_ANSWER_H

#include <stdint.h>

#include "node-agent/base/device_list.h"

#define NVML_ANSWER_WAIT_MS       3000u
#define NVML_ANSWER_COUNTERS_SIZE 512u

/* Returns the worst enum telemetry_refusal of all GPUs; TELEMETRY_HANGS: no answer came in time. Without devices it
 * tells whether NVML starts. It wakes GPUs that nobody uses. counters: NVML_ANSWER_COUNTERS_SIZE bytes; it
 * gets "; energy of 7 of 8 GPUs, not of GPU3; use and traffic (GPM) of 8 of 8 GPUs", or "" without devices, and where
 * NVML as a whole has no answer. */
uint32_t nvml_answer(const struct device_list *devices, char *counters);

#endif
