/* Why CUPTI's profilers refuse a GPU's counters. Pure. */
#ifndef CUPTI_REFUSAL_H
#define CUPTI_REFUSAL_H

#include <stdint.h>

/* Returns the enum counter_refusal (proto/counter_sampling.h) of a CUptiResult; COUNTER_SAMPLED: it is no error.
 * INVALID_OPERATION counts as COUNTER_TAKEN: another session has the GPU. */
uint32_t cupti_refusal(int result);

/* Returns why, in words for people. For an error that tells nothing it names what may use the counters. Borrowed for
 * good. */
const char *cupti_refusal_text(int result);

#endif
