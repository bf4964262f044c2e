#include "sim_graph.h"

#include <cupti.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "sim_context.h"
#include "sim_stream.h"
#include "sim_trace.h"

#define GRAPH_MAGIC 0x73696d6772617068ull
#define NODE_MAGIC  0x73696d67726e6f64ull
#define EXEC_MAGIC  0x73696d6772657865ull

static _Atomic uint32_t next_graph_id = 1;

static void report(uint32_t cbid, CUpti_GraphData *data)
{
	sim_trace_resource(cbid, sim_context_current(), NULL, data);
}

static void report_graph(uint32_t cbid, const struct sim_graph *graph,
			 const struct sim_graph *original)
{
	CUpti_GraphData data = {.graph = (CUgraph)(uintptr_t)graph,
				.originalGraph = (CUgraph)(uintptr_t)original};

	report(cbid, &data);
}

static void report_node(uint32_t cbid, const struct sim_node *node, const struct sim_node *original,
			const struct sim_graph_exec *exec)
{
	CUpti_GraphData data = {
		.graph = (CUgraph)node->graph,
		.originalGraph = original ? (CUgraph)original->graph : NULL,
		.node = (CUgraphNode)(uintptr_t)node,
		.originalNode = (CUgraphNode)(uintptr_t)original,
		.nodeType = node->type,
		.graphExec = (CUgraphExec)(uintptr_t)exec,
	};

	report(cbid, &data);
}

static void report_exec(uint32_t cbid, const struct sim_graph_exec *exec,
			const struct sim_graph *graph)
{
	CUpti_GraphData data = {.graph = (CUgraph)(uintptr_t)graph,
				.graphExec = (CUgraphExec)(uintptr_t)exec};

	report(cbid, &data);
}

static struct sim_graph *new_graph(void)
{
	struct sim_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->magic = GRAPH_MAGIC;
	graph->graph_id = atomic_fetch_add(&next_graph_id, 1);
	graph->nodes_end = &graph->nodes;
	return graph;
}

struct sim_graph *sim_graph_create(void)
{
	struct sim_graph *graph = new_graph();

	if (graph)
		report_graph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph, NULL);
	return graph;
}

/* In the graph, not yet reported. */
static struct sim_node *new_node(struct sim_graph *graph, CUgraphNodeType type,
				 const struct sim_task *task)
{
	struct sim_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->magic = NODE_MAGIC;
	node->graph = graph;
	node->node_id = (uint64_t)graph->graph_id << 32 | graph->next_node++;
	node->type = type;
	if (task)
		node->task = *task;
	*graph->nodes_end = node;
	graph->nodes_end = &node->next;
	return node;
}

static struct sim_graph *copy_whole(const struct sim_graph *original);

/* false: out of memory; what is there so far stays in the copy. */
static bool copy_nodes(struct sim_graph *copy, const struct sim_graph *original)
{
	for (const struct sim_node *node = original->nodes; node; node = node->next) {
		struct sim_node *twin = new_node(copy, node->type, &node->task);

		if (!twin)
			return false;
		twin->original_id = node->node_id;
		report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, twin, NULL, NULL);
		report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, twin, node, NULL);
		if (node->child) {
			twin->child = copy_whole(node->child);
			if (!twin->child)
				return false;
			twin->child->embedded = true;
		}
	}
	return true;
}

static struct sim_graph *copy_whole(const struct sim_graph *original)
{
	struct sim_graph *copy = sim_graph_create();

	if (!copy)
		return NULL;
	report_graph(CUPTI_CBID_RESOURCE_GRAPH_CLONED, copy, original);
	if (!copy_nodes(copy, original)) {
		sim_graph_destroy(copy);
		return NULL;
	}
	return copy;
}

struct sim_graph *sim_graph_clone(const struct sim_graph *original)
{
	return copy_whole(original);
}

static void destroy_node(struct sim_node *node)
{
	report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, node, NULL, NULL);
	if (node->child)
		sim_graph_destroy(node->child);
	node->magic = 0;
	free(node);
}

static void free_graph(struct sim_graph *graph)
{
	struct sim_node *next;

	for (struct sim_node *node = graph->nodes; node; node = next) {
		next = node->next;
		destroy_node(node);
	}
	graph->magic = 0;
	free(graph);
}

void sim_graph_destroy(struct sim_graph *graph)
{
	report_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph, NULL);
	free_graph(graph);
}

struct sim_node *sim_graph_add(struct sim_graph *graph, CUgraphNodeType type,
			       const struct sim_task *task, const struct sim_graph *child)
{
	struct sim_node *node = new_node(graph, type, task);

	if (!node)
		return NULL;
	report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL, NULL);
	if (child) {
		node->child = copy_whole(child);
		if (!node->child) {
			sim_graph_remove(node);
			return NULL;
		}
		node->child->embedded = true;
	}
	return node;
}

void sim_graph_remove(struct sim_node *node)
{
	struct sim_graph *graph = node->graph;

	for (struct sim_node **link = &graph->nodes; *link; link = &(*link)->next) {
		if (*link == node) {
			*link = node->next;
			if (!*link)
				graph->nodes_end = link;
			break;
		}
	}
	destroy_node(node);
}

struct sim_graph_exec *sim_graph_instantiate(const struct sim_graph *graph)
{
	struct sim_graph_exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	exec->magic = EXEC_MAGIC;
	exec->body = new_graph();
	if (!exec->body || !copy_nodes(exec->body, graph)) {
		if (exec->body)
			free_graph(exec->body);
		free(exec);
		return NULL;
	}
	exec->body->embedded = true;
	report_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec, graph);
	return exec;
}

void sim_graph_exec_destroy(struct sim_graph_exec *exec)
{
	report_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, exec, NULL);
	exec->magic = 0;
	free_graph(exec->body);
	free(exec);
}

/* *error_node: the first node of right that has no counterpart in left. */
static bool same_shape(const struct sim_graph *left, const struct sim_graph *right,
		       struct sim_node **error_node)
{
	struct sim_node *b = right->nodes;

	for (const struct sim_node *a = left->nodes; a; a = a->next, b = b->next) {
		*error_node = b;
		if (!b || a->type != b->type)
			return false;
		if (a->child && !same_shape(a->child, b->child, error_node))
			return false;
	}
	*error_node = b;
	return !b;
}

static void take_tasks(struct sim_graph_exec *exec, struct sim_graph *body,
		       const struct sim_graph *graph)
{
	const struct sim_node *source = graph->nodes;

	for (struct sim_node *node = body->nodes; node; node = node->next, source = source->next) {
		node->task = source->task;
		/* To CUPTI the executable graph's node is the original one. */
		report_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, source, node, exec);
		if (node->child)
			take_tasks(exec, node->child, source->child);
	}
}

int sim_graph_exec_update(struct sim_graph_exec *exec, const struct sim_graph *graph,
			  struct sim_node **error_node)
{
	if (!same_shape(exec->body, graph, error_node))
		return -EINVAL;
	take_tasks(exec, exec->body, graph);
	return 0;
}

static struct sim_node *find_copy(const struct sim_graph *graph, uint64_t original_id)
{
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		struct sim_node *found = node->child ? find_copy(node->child, original_id) : NULL;

		if (node->original_id == original_id)
			return node;
		if (found)
			return found;
	}
	return NULL;
}

int sim_graph_exec_set_task(struct sim_graph_exec *exec, struct sim_node *original,
			    const struct sim_task *task)
{
	struct sim_node *node = find_copy(exec->body, original->node_id);

	if (!node || node->type != original->type)
		return -EINVAL;
	node->task = *task;
	report_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, node, original, exec);
	return 0;
}

/* *whole grows around what ran: its start is that of the first node. The driver makes the nodes of
 * child graphs nodes of the executable graph itself, numbered on from *next_node, and tells nobody. */
static int run_nodes(const struct sim_graph *body, uint32_t graph_id, struct sim_stream *stream,
		     struct sim_operation *whole, bool child, uint32_t *next_node)
{
	for (const struct sim_node *node = body->nodes; node; node = node->next) {
		struct sim_operation ran;
		int error = 0;

		if (node->child) {
			error = run_nodes(node->child, graph_id, stream, whole, true, next_node);
		} else if (node->type != CU_GRAPH_NODE_TYPE_EMPTY) {
			uint64_t node_id =
				child ? (uint64_t)graph_id << 32 | (*next_node)++ : node->node_id;

			error = sim_task_run(&node->task, stream, graph_id, node_id, &ran);
			if (error == 0) {
				if (whole->start_ns == 0)
					whole->start_ns = ran.start_ns;
				whole->end_ns = ran.end_ns;
				whole->sequence = ran.sequence ? ran.sequence : whole->sequence;
			}
		}
		if (error != 0)
			return error;
	}
	return 0;
}

int sim_graph_exec_run(const struct sim_graph_exec *exec, struct sim_stream *stream)
{
	struct sim_operation whole = {
		.kind = SIM_GRAPH, .name = "", .graph_id = exec->body->graph_id};
	uint32_t next_node = exec->body->next_node;
	int error = run_nodes(exec->body, exec->body->graph_id, stream, &whole, false, &next_node);

	if (whole.start_ns == 0 || !sim_trace_wants_graphs())
		return error;
	int whole_error = sim_stream_note(stream, &whole);
	return error != 0 ? error : whole_error;
}

struct sim_graph *sim_graph_check(void *handle)
{
	struct sim_graph *graph = handle;

	return graph && graph->magic == GRAPH_MAGIC ? graph : NULL;
}

struct sim_node *sim_graph_check_node(void *handle)
{
	struct sim_node *node = handle;

	return node && node->magic == NODE_MAGIC ? node : NULL;
}

struct sim_graph_exec *sim_graph_check_exec(void *handle)
{
	struct sim_graph_exec *exec = handle;

	return exec && exec->magic == EXEC_MAGIC ? exec : NULL;
}
