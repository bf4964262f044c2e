/* One thing to be done on a stream, now or by every launch of a graph: a kernel, a copy or a memset
 * with what it does to memory. Tasks are plain values. Any thread. */
#ifndef SIM_TASK_H
#define SIM_TASK_H

#include <stddef.h>

#include "sim_trace.h"

struct sim_kernel;
struct sim_stream;

struct sim_task {
	struct sim_operation operation;  /* what is to be run; identity and times belong to a run */
	const struct sim_kernel *kernel; /* NULL: a copy or a memset */
	void *destination;
	const void *source;
	size_t width; /* bytes of one element of a memset: 1, 2 or 4 */
};

/* Changes the memory and runs the operation. graph_id and graph_node_id: of the graph launch that
 * this is part of, else 0. *ran, unless ran is NULL, is the operation with identity and times.
 * Returns 0 or -ENOMEM (nothing ran). */
int sim_task_run(const struct sim_task *task, struct sim_stream *stream, uint32_t graph_id,
		 uint64_t graph_node_id, struct sim_operation *ran);

/* Runs the task, or makes it a node of the graph that the stream is captured into. Returns 0;
 * -ENOMEM; -ECANCELED: the capture was made invalid before. */
int sim_task_submit(const struct sim_task *task, struct sim_stream *stream);

#endif
