/* The time of day in lines about lag. Pure but for the clocks; any thread. */
#ifndef LAG_TIME_H
#define LAG_TIME_H

#include <stdint.h>

#define LAG_TIME_SIZE 16u

/* Writes a time of CLOCK_MONOTONIC as local time of day, "12:03:09", and returns text. */
const char *lag_time_text(uint64_t monotonic_ns, char text[static LAG_TIME_SIZE]);

#endif
