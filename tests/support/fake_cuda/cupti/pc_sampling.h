/* CUPTI's PC sampling. In continuous mode each kernel of FAKE_CUPTI_SAMPLES_LEAST_NS gives a sample for each
 * microsecond and at least one, spread over some of its instructions and reasons by its name. In serialized mode with
 * start and stop it does so while it is started, by its name and the depth of its grid, and each sample has the
 * correlation id of its launch.
 *
 * While it is started, one thread at a time is in a launch, from behind the subscriber's first callback to behind its
 * second one, as seen of CUPTI 13.0.
 *
 * FAKE_CUDA_SAMPLES is where all of them are written at exit, a line for each place: device, kernel, offset, reason,
 * count, and that depth; 0 of continuous mode. Serialized sampling that ends or stops beside a launch of
 * another thread aborts, where the real one stands still for ever. Any thread. */
#ifndef PC_SAMPLING_H
#define PC_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim_trace.h"

struct sim_context;

/* Returns whether a session of a context has a device's counters. */
bool pc_sampling_has(uint32_t device_ordinal);

/* An operation was submitted; only kernels count. */
void pc_sampling_record(const struct sim_operation *operation);

/* A context was created, or is about to be destroyed: after the subscriber has heard of it. The first one loads
 * FAKE_CUDA_CUBIN. */
void pc_sampling_context(uint32_t cbid, struct sim_context *context);

/* Of a launch of this thread: the subscriber has heard of its begin; is about to hear of its end; has heard of it. */
void pc_sampling_launch_begins(void);
void pc_sampling_launch_ends(void);
void pc_sampling_launch_over(void);

#endif
