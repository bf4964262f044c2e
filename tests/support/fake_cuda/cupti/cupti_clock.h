/* CUPTI's clock: the simulation's (sim_clock.h), or one that the program has put in its place. GPU times are put on
 * that clock when records are given out, by readings of both clocks, as CUPTI 13.0 does
 * (tests/gpu/programs/clock_probe.cu). Any thread. */
#ifndef CUPTI_CLOCK_H
#define CUPTI_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t cupti_clock_now(void);

/* Whether times have to be put on another clock; else the functions below give back what they get. */
bool cupti_clock_is_foreign(void);

/* A time of the simulation's, which is before now. */
uint64_t cupti_clock_of(uint64_t time_ns);

/* Work that ran while the clock was changed has a start of 0. */
bool cupti_clock_changed_within(uint64_t start_ns, uint64_t end_ns);

/* cuptiFinalize(). */
void cupti_clock_reset(void);

#endif
