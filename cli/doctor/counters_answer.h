/* Samples the counters of all GPUs of this machine for a moment, as an agent does with --sample-counters. It wakes GPUs
 * that nobody uses, and takes as long as CUDA needs to start. Single-threaded. */
#ifndef COUNTERS_ANSWER_H
#define COUNTERS_ANSWER_H

#include <stdint.h>

#include "node-agent/base/device_list.h"

#define COUNTERS_ANSWER_WAIT_MS 15000u
#define COUNTERS_ANSWER_SIZE    256u

/* program: this program's path. Returns the enum counter_refusal of the first GPU that is not sampled; COUNTER_HANGS:
 * no answer came in time. text: COUNTERS_ANSWER_SIZE bytes; it gets "7 of 8 GPUs, not of GPU3". */
uint32_t counters_answer(const struct device_list *devices, const char *program, char *text);

#endif
