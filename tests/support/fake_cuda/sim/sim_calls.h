/* How often each API function was called while somebody traced, and with what result: for the truth. Any thread. */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include <stdint.h>
#include <stdio.h>

struct sim_call;

/* A call ends that was traced from its beginning. result: CUresult or cudaError_t. */
void sim_calls_count(const struct sim_call *call, int result);

/* A line for each function, "#call", "runtime" or "driver", name, count, failed; and for each of its errors, "#failed",
 * API, name, error, count. 600, not ready, is no failure. */
void sim_calls_write(FILE *file);

#endif
