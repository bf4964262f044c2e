/* The device clock: CLOCK_REALTIME nanoseconds, as CUPTI's timestamps are by default. With
 * FAKE_CUDA_REALTIME=0 nobody waits for the device; the clock jumps forward instead. Any thread. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

uint64_t sim_clock_now(void);

/* Keeps the calling thread busy until ns have gone by since begin_ns, which sim_clock_host_ns()
 * gave. */
uint64_t sim_clock_host_ns(void);
void sim_clock_spend(uint64_t begin_ns, uint64_t ns);

/* Returns once the device clock shows end_ns or later. */
void sim_clock_wait(uint64_t end_ns);

#endif
