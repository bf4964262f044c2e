#include "graph_callback.h"

#include <stdatomic.h>

#include "graph_nodes.h"
#include "launch_thread.h"
#include "monotonic.h"
#include "window_callback.h"

static _Atomic uint64_t captured;

uint64_t graph_callback_captured(void)
{
	return atomic_load_explicit(&captured, memory_order_relaxed);
}

/* 0: none. */
static uint64_t id_of(const struct cupti_library *library, void *node)
{
	uint64_t node_id = 0;

	if (!node || library->get_graph_node_id(node, &node_id) != CUPTI_ABI_SUCCESS)
		return 0;
	return node_id;
}

void graph_callback_created(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data)
{
	uint64_t now_ns = monotonic_ns();
	struct launch_thread *thread = launch_thread_own(launch->ring, now_ns);
	uint64_t node_id = id_of(library, data->node);

	if (thread && thread->outer_correlation_id) {
		atomic_fetch_add_explicit(&captured, 1, memory_order_relaxed);
		window_callback_captured(thread->outer_correlation_id);
	}
	if (!thread || node_id == 0)
		return;
	graph_nodes_put(launch->nodes, node_id,
			thread->outer_correlation_id
				? thread->outer_stack_id
				: stack_capture_take(&launch->capture, &thread->scratch, now_ns));
}

/* From one node to another. */
static void carry(const struct launch_callback *launch, const struct cupti_library *library,
		  void *from, void *to)
{
	uint64_t from_id = id_of(library, from), to_id = id_of(library, to);

	if (from_id && to_id && from_id != to_id)
		graph_nodes_put(launch->nodes, to_id, graph_nodes_get(launch->nodes, from_id));
}

void graph_callback_copied(const struct launch_callback *launch,
			   const struct cupti_library *library, const struct cupti_graph_data *data)
{
	carry(launch, library, data->original_node, data->node);
}

void graph_callback_updated(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data)
{
	carry(launch, library, data->node, data->original_node);
}
