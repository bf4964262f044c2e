/* What a capture costs where many native stacks have one stack pointer: guest_bench --cold. */
#ifndef COLD_PATHS_H
#define COLD_PATHS_H

#include "inject/launch/stack_capture.h"

/* Captures 16 to 2,000 stacks of 30 frames in random order, which differ in their outermost frames alone. Between two
 * captures other code runs and touches other memory. Prints the cycles of the time-stamp counter (nanoseconds on other
 * machines) of a capture that walks, and of one that recognises. The tables must be built. Returns 0, or -1: no
 * memory. */
int cold_paths_report(const struct stack_capture *capture);

#endif
