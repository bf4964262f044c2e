/* Reads the three clocks that the agent needs to place GPU times. Any thread may call. CUPTI must be up. */
#ifndef CLOCK_SAMPLE_H
#define CLOCK_SAMPLE_H

#include "proto/definition.h"

struct cupti_library;

/* Takes the tightest of 20 bracketed readings. Returns 0; -EIO: CUPTI gave no time, and *clock is zeroed. */
int clock_sample_take(const struct cupti_library *library, struct definition_clock *clock);

#endif
