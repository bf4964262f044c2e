/* The difference between this host's two clocks. Any thread. */
#ifndef REALTIME_OFFSET_H
#define REALTIME_OFFSET_H

#include <stdint.h>

/* CLOCK_REALTIME - CLOCK_MONOTONIC in ns. Each of a few readings of one clock lies between two of the other; the
 * closest reading counts. */
int64_t realtime_offset_read(void);

#endif
