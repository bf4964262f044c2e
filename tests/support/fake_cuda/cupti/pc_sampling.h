/* CUPTI's PC sampling in continuous mode: each kernel gives a sample for each microsecond and at least one, spread over
 * some of its instructions and reasons by its name. FAKE_CUDA_SAMPLES is where all of them are written at exit. Any
 * thread. */
#ifndef PC_SAMPLING_H
#define PC_SAMPLING_H

#include "sim/sim_trace.h"

struct sim_context;

/* An operation was submitted; only kernels count. */
void pc_sampling_record(const struct sim_operation *operation);

/* A context was created, or is about to be destroyed: after the subscriber has heard of it. The first one loads
 * FAKE_CUDA_CUBIN. */
void pc_sampling_context(uint32_t cbid, struct sim_context *context);

#endif
