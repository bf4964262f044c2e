/* Reads the clocks of this host, in nanoseconds. Any thread. The guest reads its own (inject/base/monotonic.h). */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC; clock_now_ms() in milliseconds. */
uint64_t clock_now_ns(void);
uint64_t clock_now_ms(void);

/* CLOCK_REALTIME. */
uint64_t clock_realtime_ns(void);

/* The CPU time of the calling thread. */
uint64_t clock_thread_ns(void);

/* CLOCK_REALTIME - CLOCK_MONOTONIC. The clocks are read in turn a few times, and the closest pair counts. */
int64_t clock_realtime_offset_ns(void);

/* The clock's time wait_ns from now, for pthread_cond_timedwait(). */
struct timespec clock_in(clockid_t clock, uint64_t wait_ns);

#endif
