#include "sim_task.h"

#include <errno.h>
#include <string.h>

#include "sim_graph.h"
#include "sim_stream.h"

static void fill(const struct sim_task *task)
{
	const uint8_t *value = (const uint8_t *)&task->operation.memset_value;
	uint8_t *destination = task->destination;

	if (task->width == 1) {
		memset(destination, value[0], task->operation.bytes);
		return;
	}
	for (uint64_t i = 0; i < task->operation.bytes; i += task->width)
		memcpy(destination + i, value, task->width);
}

int sim_task_run(const struct sim_task *task, struct sim_stream *stream, uint32_t graph_id,
		 uint64_t graph_node_id, struct sim_operation *ran)
{
	struct sim_operation operation = task->operation;

	if (operation.kind == SIM_MEMCPY)
		memmove(task->destination, task->source, operation.bytes);
	else if (operation.kind == SIM_MEMSET)
		fill(task);
	operation.graph_id = graph_id;
	operation.graph_node_id = graph_node_id;
	int error = sim_stream_run(stream, &operation, task->kernel);
	if (ran)
		*ran = operation;
	return error;
}

int sim_task_submit(const struct sim_task *task, struct sim_stream *stream)
{
	static const CUgraphNodeType types[] = {
		[SIM_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
		[SIM_MEMCPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
		[SIM_MEMSET] = CU_GRAPH_NODE_TYPE_MEMSET,
	};

	if (!stream->capture)
		return sim_task_run(task, stream, 0, 0, NULL);
	if (stream->capture->capture_failed)
		return -ECANCELED;
	return sim_graph_add(stream->capture, types[task->operation.kind], task, NULL) ? 0
										       : -ENOMEM;
}
