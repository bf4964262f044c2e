/* Tasks from the arguments of launches, copies and memsets, and what becomes of them. */
#ifndef DRIVER_TASK_H
#define DRIVER_TASK_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_task.h"

struct sim_event;
struct sim_stream;

/* Of config only the shape counts, not the stream. An error where the driver refuses the launch. */
CUresult driver_kernel_task(const CUlaunchConfig *config, CUfunction function, bool cooperative,
			    struct sim_task *task);
CUresult driver_kernel_node_task(const CUDA_KERNEL_NODE_PARAMS *params, struct sim_task *task);
void driver_copy_task(void *to, const void *from, size_t size_bytes, bool asynchronous,
		      struct sim_task *task);
/* width: bytes of one element. An error where `to` is no device memory. */
CUresult driver_fill_task(CUdeviceptr to, uint32_t value, size_t count, size_t width,
			  bool asynchronous, struct sim_task *task);

/* What callbacks call the kernel; NULL: function is none. */
const char *driver_kernel_symbol(CUfunction function);

/* Runs the task, or captures it into the stream's graph. */
CUresult driver_submit(const struct sim_task *task, struct sim_stream *stream);

/* What must not happen on a captured stream has happened: the capture ends without a graph. Returns
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. */
CUresult driver_spoil_capture(struct sim_stream *stream);

/* A stream that waits for an event which was recorded during a capture takes part in it. */
void driver_join_capture(struct sim_stream *stream, const struct sim_event *event);

/* Whether this launch is one that FAKE_CUDA_FAIL_LAUNCH lets fail. */
bool driver_launch_fails(void);

#endif
