#include "graph_callback.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "inject/base/monotonic.h"
#include "inject/cupti/graph_copies.h"
#include "inject/cupti/graph_launches.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/launch/launch_thread.h"
#include "inject/launch/outstanding_launches.h"

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

/* Returns the copies that the thread is making; the first need creates the table. NULL: no memory. */
static struct graph_copies *copies_of(struct launch_thread *thread)
{
	int saved_errno = errno;

	if (thread && !thread->copies)
		thread->copies = graph_copies_create();
	errno = saved_errno;
	return thread ? thread->copies : NULL;
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
		outstanding_launches_captured(thread->outer_correlation_id);
		thread->last_launch.captured = true;
	}
	if (!thread || node_id == 0)
		return;
	if (thread->outer_correlation_id) {
		graph_nodes_put(launch->nodes, node_id, launch_callback_stack(launch, thread));
		return;
	}
	struct graph_copies *copies = copies_of(thread);
	if (copies)
		graph_copies_note(copies, data->node, node_id,
				  graph_nodes_get(launch->nodes, node_id));
	graph_nodes_put(launch->nodes, node_id, launch_callback_take(launch, thread, now_ns));
}

/* Puts back the stack that a node's copy displaced. If a graph has lost nodes, CUPTI creates a node's copy under the
 * next number, and then gives it the original's number. The next node's copy is created under that same number. So the
 * stack that a number had before is put back. */
static void put_back(const struct launch_callback *launch, struct graph_copies *copies,
		     const void *node, uint64_t node_id)
{
	uint32_t displaced;
	uint64_t created_id = graph_copies_noted(copies, node, &displaced);

	if (created_id != 0 && created_id != node_id)
		graph_nodes_put(launch->nodes, created_id, displaced);
}

void graph_callback_copied(const struct launch_callback *launch,
			   const struct cupti_library *library, const struct cupti_graph_data *data)
{
	struct graph_copies *copies = copies_of(launch_thread_here(launch->ring));
	uint64_t from_id = id_of(library, data->original_node), to_id = id_of(library, data->node);

	if (from_id == 0 || to_id == 0 || from_id == to_id)
		return;
	uint32_t stack_id = graph_nodes_get(launch->nodes, from_id);
	if (copies) {
		put_back(launch, copies, data->node, to_id);
		graph_copies_add(copies, data->node, stack_id);
	}
	graph_nodes_put(launch->nodes, to_id, stack_id);
}

/* Enters the copies' final ids. It begins with nodes that are gone: a node that took the place of one has its id, and
 * stands for it. */
static void number_copies(const struct launch_callback *launch, const struct cupti_library *library,
			  const struct graph_copies *copies, const void *graph)
{
	uint32_t count;
	const struct graph_copy *copy = graph_copies_of(copies, graph, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!copy[i].node && copy[i].node_id != 0)
			graph_nodes_put(launch->nodes, copy[i].node_id, copy[i].stack_id);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t node_id = copy[i].node_id == 0 ? id_of(library, copy[i].node) : 0;

		if (node_id != 0)
			graph_nodes_put(launch->nodes, node_id, copy[i].stack_id);
	}
}

static uint32_t exec_id_of(const struct cupti_library *library, void *exec)
{
	uint32_t graph_id = 0;

	if (!exec || !library->get_graph_exec_id ||
	    library->get_graph_exec_id(exec, &graph_id) != CUPTI_ABI_SUCCESS)
		return 0;
	return graph_id;
}

void graph_callback_changed(const struct launch_callback *launch,
			    const struct cupti_library *library, uint32_t cbid,
			    const struct cupti_graph_data *data)
{
	struct graph_copies *copies = copies_of(launch_thread_here(launch->ring));
	uint32_t graph_id;

	switch (cbid) {
	case CUPTI_ABI_RESOURCE_GRAPH_CREATED:
		if (copies)
			graph_copies_begin(copies, launch->window, data->graph);
		break;
	case CUPTI_ABI_RESOURCE_NODE_DESTROYED:
		if (copies)
			graph_copies_remove(
				copies, data->node,
				graph_copies_is_settled(copies) ? id_of(library, data->node) : 0);
		break;
	case CUPTI_ABI_RESOURCE_EXEC_STARTING:
		if (copies)
			graph_copies_settle(copies, data->graph_exec);
		break;
	case CUPTI_ABI_RESOURCE_EXEC_CREATED:
		if (copies) {
			number_copies(launch, library, copies, data->graph_exec);
			graph_copies_clear(copies);
		}
		graph_nodes_put_exec(launch->nodes, data->graph_exec,
				     exec_id_of(library, data->graph_exec));
		break;
	case CUPTI_ABI_RESOURCE_EXEC_DESTROYED:
		graph_id = graph_nodes_get_exec(launch->nodes, data->graph_exec);
		graph_nodes_put_exec(launch->nodes, data->graph_exec, 0);
		graph_launches_end(graph_nodes_launches(launch->nodes), graph_id);
		break;
	default:
		break;
	}
}

/* Notes a launch when it begins, so that no record comes before. The handle may be invalid then, so it is only looked
 * up. */
static void note_launch(const struct launch_callback *launch, const void *exec, bool wanted)
{
	struct graph_launches *launches = graph_nodes_launches(launch->nodes);
	struct launch_thread *thread = launch_thread_here(launch->ring);
	uint32_t graph_id = graph_nodes_get_exec(launch->nodes, exec);

	if (graph_id == 0)
		return;
	if (wanted && thread && thread->outer_correlation_id)
		graph_launches_put(launches, graph_id, thread->outer_correlation_id,
				   launch_callback_stack(launch, thread), thread->tid);
	else
		graph_launches_spoil(launches, graph_id);
}

void graph_callback_launched(const struct launch_callback *launch,
			     const struct cupti_library *library,
			     const struct cupti_callback_data *call, bool wanted)
{
	const struct cupti_graph_launch *params = call->function_params;

	if (!launch->nodes || !params)
		return;
	if (call->site == CUPTI_ABI_API_ENTER)
		note_launch(launch, params->graph_exec, wanted);
	else if (call->return_value && *call->return_value == 0 &&
		 graph_nodes_get_exec(launch->nodes, params->graph_exec) == 0)
		graph_launches_spoil(graph_nodes_launches(launch->nodes),
				     exec_id_of(library, params->graph_exec));
}

void graph_callback_updated(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data)
{
	/* CUPTI names the two nodes the other way round here. */
	uint64_t from_id = id_of(library, data->node), to_id = id_of(library, data->original_node);

	if (from_id && to_id && from_id != to_id)
		graph_nodes_put(launch->nodes, to_id, graph_nodes_get(launch->nodes, from_id));
}
