#include "sim_graph.h"

#include <cupti.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "sim_context.h"
#include "sim_trace.h"

#define GRAPH_MAGIC 0x73696d6772617068ull
#define NODE_MAGIC  0x73696d67726e6f64ull

static _Atomic uint32_t next_graph_id = 1;

static void report(uint32_t cbid, CUpti_GraphData *data)
{
	sim_trace_resource(cbid, sim_context_current(), NULL, data);
}

void sim_graph_report(uint32_t cbid, const struct sim_graph *graph,
		      const struct sim_graph *original)
{
	CUpti_GraphData data = {.graph = (CUgraph)(uintptr_t)graph,
				.originalGraph = (CUgraph)(uintptr_t)original};

	report(cbid, &data);
}

void sim_graph_report_node(uint32_t cbid, const struct sim_node *node,
			   const struct sim_node *original, const struct sim_graph_exec *exec)
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

void sim_graph_report_exec(uint32_t cbid, const struct sim_graph_exec *exec,
			   const struct sim_graph *graph)
{
	CUpti_GraphData data = {.graph = (CUgraph)(uintptr_t)graph,
				.graphExec = (CUgraphExec)(uintptr_t)exec};

	report(cbid, &data);
}

struct sim_graph *sim_graph_init(struct sim_graph *memory)
{
	struct sim_graph *graph = memory ? memory : calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->magic = GRAPH_MAGIC;
	graph->graph_id = atomic_fetch_add(&next_graph_id, 1);
	graph->nodes_end = &graph->nodes;
	return graph;
}

struct sim_graph *sim_graph_create(void)
{
	struct sim_graph *graph = sim_graph_init(NULL);

	if (graph)
		sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph, NULL);
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

static bool add_body(struct sim_node *node, const struct sim_graph *original)
{
	struct sim_graph *body = sim_graph_create();

	if (!body)
		return false;
	body->embedded = true;
	node->handles[node->nr_bodies] = (CUgraph)body;
	node->bodies[node->nr_bodies++] = body;
	if (original && original->conditional)
		node->graph->conditional = true;
	return !original || sim_graph_copy_nodes(body, original);
}

/* A copy is created under the number that is next, and then has its original's within its graph. */
static void number_like(struct sim_node *twin, const struct sim_node *original)
{
	uint32_t number = (uint32_t)original->node_id;

	twin->node_id = (uint64_t)twin->graph->graph_id << 32 | number;
	if (twin->graph->next_node <= number)
		twin->graph->next_node = number + 1;
}

bool sim_graph_copy_nodes(struct sim_graph *copy, const struct sim_graph *original)
{
	uint32_t count = 0;

	copy->conditional = original->conditional;
	for (const struct sim_node *node = original->nodes; node; node = node->next) {
		copy->next_node = count++;
		struct sim_node *twin = new_node(copy, node->type, &node->task);

		if (!twin)
			return false;
		twin->original_id = node->node_id;
		twin->condition = node->condition;
		twin->value = node->value;
		for (uint32_t i = 0; i < node->nr_bodies; i++)
			if (!add_body(twin, node->bodies[i]))
				return false;
		sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, twin, NULL, NULL);
		number_like(twin, node);
		sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, twin, node, NULL);
	}
	return true;
}

struct sim_graph *sim_graph_clone(const struct sim_graph *original)
{
	struct sim_graph *copy = sim_graph_create();

	if (!copy)
		return NULL;
	if (!sim_graph_copy_nodes(copy, original)) {
		sim_graph_destroy(copy);
		return NULL;
	}
	sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_CLONED, copy, original);
	return copy;
}

static void destroy_node(struct sim_node *node)
{
	bool dissolved = node->nr_bodies && node->bodies[0]->dissolved;

	if (!dissolved || node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, node, NULL,
				      NULL);
	for (uint32_t i = 0; i < node->nr_bodies; i++) {
		if (dissolved)
			sim_graph_free(node->bodies[i]);
		else
			sim_graph_destroy(node->bodies[i]);
	}
	node->magic = 0;
	free(node);
}

void sim_graph_free(struct sim_graph *graph)
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
	sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph, NULL);
	sim_graph_free(graph);
}

struct sim_node *sim_graph_add(struct sim_graph *graph, CUgraphNodeType type,
			       const struct sim_task *task, const struct sim_graph *child)
{
	struct sim_node *node = new_node(graph, type, task);

	if (!node)
		return NULL;
	if (child && !add_body(node, child)) {
		sim_graph_remove(node);
		return NULL;
	}
	sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL, NULL);
	return node;
}

struct sim_node *sim_graph_add_conditional(struct sim_graph *graph,
					   CUgraphConditionalNodeType condition, uint32_t nr_bodies,
					   uint32_t value)
{
	struct sim_node *node = new_node(graph, CU_GRAPH_NODE_TYPE_CONDITIONAL, NULL);

	if (!node)
		return NULL;
	graph->conditional = true;
	node->condition = condition;
	node->value = value;
	while (node->nr_bodies < nr_bodies) {
		if (!add_body(node, NULL)) {
			sim_graph_remove(node);
			return NULL;
		}
	}
	sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL, NULL);
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
