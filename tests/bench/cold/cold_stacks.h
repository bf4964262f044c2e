/* What a capture costs when the caches are cold, as they are in real programs: guest_bench --cold. */
#ifndef COLD_STACKS_H
#define COLD_STACKS_H

#include "inject/launch/launch_callback.h"

/* Captures 500 stacks of 20 to 45 native and up to 40 Python frames in random order, in two threads at once. Between
 * two captures each thread runs other code and touches other memory. Prints the cycles of the time-stamp counter
 * (nanoseconds on other machines): of the parts, of a capture that walks, of one that recognises known stacks, and of a
 * whole launch. The tables must be built. Returns 0, or -1: no memory, or no Python. */
int cold_stacks_report(const struct launch_callback *launch);

#endif
