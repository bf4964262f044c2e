/* How this host's two clocks stand to each other. Any thread. */
#ifndef REALTIME_OFFSET_H
#define REALTIME_OFFSET_H

#include <stdint.h>

/* CLOCK_REALTIME - CLOCK_MONOTONIC, ns: the best of a few readings of one between two of the other. */
int64_t realtime_offset_read(void);

#endif
