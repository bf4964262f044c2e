/* Executable graphs: as the real driver makes them, as far as CUPTI 13.0 tells (measured on an H200). */
#include "sim_graph.h"

#include <cupti.h>
#include <errno.h>
#include <stdlib.h>

#include "sim_stream.h"
#include "sim_trace.h"

/* The driver makes another graph of the same shape, and tells of it and of those of its nodes that have graphs in
 * them. */
static struct sim_graph *make_rest(const struct sim_graph *graph)
{
	struct sim_graph *rest = sim_graph_create();

	for (const struct sim_node *node = graph->nodes; rest && node; node = node->next)
		if (node->nr_bodies)
			sim_graph_add(rest, CU_GRAPH_NODE_TYPE_EMPTY, NULL, NULL);
	return rest;
}

/* The node's place, for another that does what it did; the old one is freed. NULL: out of memory. */
static struct sim_node *move(struct sim_node **link, struct sim_graph *graph)
{
	struct sim_node *old = *link, *node = malloc(sizeof(*node));

	if (!node)
		return NULL;
	*node = *old;
	*link = node;
	if (!node->next)
		graph->nodes_end = &node->next;
	old->magic = 0;
	free(old);
	return node;
}

/* A copy's node gives way to another, which is created under the next number and then takes its. */
static bool replace_copy(struct sim_graph_exec *exec, struct sim_node **link,
			 struct sim_graph *graph)
{
	struct sim_node *old = *link, *node = malloc(sizeof(*node));

	if (!node)
		return false;
	*node = *old;
	node->graph = &exec->body;
	node->node_id = (uint64_t)exec->body.graph_id << 32 | exec->body.next_node++;
	sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL, NULL);
	sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, old, NULL, NULL);
	node->node_id = old->node_id;
	free(node);
	return move(link, graph) != NULL;
}

static bool replace_copies(struct sim_graph_exec *exec, struct sim_graph *graph)
{
	for (struct sim_node **link = &graph->nodes; *link; link = &(*link)->next) {
		if ((*link)->type == CU_GRAPH_NODE_TYPE_MEMCPY && !replace_copy(exec, link, graph))
			return false;
		for (uint32_t i = 0; i < (*link)->nr_bodies; i++)
			if (!replace_copies(exec, (*link)->bodies[i]))
				return false;
	}
	return true;
}

/* Nodes of child graphs and of bodies become the executable graph's own, numbered on from its last: all of one graph,
 * then those of the graphs in it. */
static void take_in(struct sim_graph_exec *exec, struct sim_graph *graph)
{
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		for (uint32_t i = 0; i < node->nr_bodies; i++) {
			for (struct sim_node *inner = node->bodies[i]->nodes; inner;
			     inner = inner->next) {
				inner->node_id = (uint64_t)exec->body.graph_id << 32 |
						 exec->body.next_node++;
				inner->graph = &exec->body;
			}
		}
		for (uint32_t i = 0; i < node->nr_bodies; i++)
			take_in(exec, node->bodies[i]);
	}
}

/* The graphs in it go, and with them the nodes that had child graphs. */
static bool dissolve(struct sim_graph *graph)
{
	for (struct sim_node **link = &graph->nodes; *link; link = &(*link)->next) {
		if (!(*link)->nr_bodies)
			continue;
		if ((*link)->type == CU_GRAPH_NODE_TYPE_GRAPH) {
			sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, *link,
					      NULL, NULL);
			if (!move(link, graph))
				return false;
		}
		for (uint32_t i = 0; i < (*link)->nr_bodies; i++) {
			sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
					 (*link)->bodies[i], NULL);
			(*link)->bodies[i]->dissolved = true;
			if (!dissolve((*link)->bodies[i]))
				return false;
		}
	}
	return true;
}

struct sim_graph_exec *sim_graph_instantiate(struct sim_graph *graph)
{
	struct sim_graph_exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	sim_graph_init(&exec->body);
	exec->body.embedded = true;
	exec->body.executable = true;
	sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &exec->body, NULL);
	bool whole = sim_graph_copy_nodes(&exec->body, graph);
	exec->rest = whole ? make_rest(graph) : NULL;
	if (exec->rest)
		sim_graph_report_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, exec, graph);
	if (exec->rest)
		take_in(exec, &exec->body);
	if (!exec->rest || !dissolve(&exec->body) || !replace_copies(exec, &exec->body)) {
		sim_graph_exec_destroy(exec);
		return NULL;
	}
	graph->instantiated = true;
	sim_graph_report_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec, graph);
	return exec;
}

void sim_graph_exec_destroy(struct sim_graph_exec *exec)
{
	sim_graph_report_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, exec, NULL);
	sim_graph_report(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, &exec->body, NULL);
	if (exec->rest)
		sim_graph_destroy(exec->rest);
	sim_graph_free(&exec->body);
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
		if (a->nr_bodies != b->nr_bodies)
			return false;
		for (uint32_t i = 0; i < a->nr_bodies; i++)
			if (!same_shape(a->bodies[i], b->bodies[i], error_node))
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
		sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, source, node, exec);
		for (uint32_t i = 0; i < node->nr_bodies; i++)
			take_tasks(exec, node->bodies[i], source->bodies[i]);
	}
}

int sim_graph_exec_update(struct sim_graph_exec *exec, const struct sim_graph *graph,
			  struct sim_node **error_node)
{
	if (!same_shape(&exec->body, graph, error_node))
		return -EINVAL;
	take_tasks(exec, &exec->body, graph);
	return 0;
}

static struct sim_node *find_copy(const struct sim_graph *graph, uint64_t original_id)
{
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		struct sim_node *found = NULL;

		if (node->original_id == original_id)
			return node;
		for (uint32_t i = 0; i < node->nr_bodies && !found; i++)
			found = find_copy(node->bodies[i], original_id);
		if (found)
			return found;
	}
	return NULL;
}

int sim_graph_exec_set_child(struct sim_graph_exec *exec, struct sim_node *original,
			     const struct sim_graph *graph)
{
	struct sim_node *node = find_copy(&exec->body, original->node_id), *error_node;

	if (!node || node->type != CU_GRAPH_NODE_TYPE_GRAPH ||
	    !same_shape(node->bodies[0], graph, &error_node))
		return -EINVAL;
	take_tasks(exec, node->bodies[0], graph);
	return 0;
}

int sim_graph_exec_set_task(struct sim_graph_exec *exec, struct sim_node *original,
			    const struct sim_task *task)
{
	struct sim_node *node = find_copy(&exec->body, original->node_id);

	if (!node || node->type != original->type)
		return -EINVAL;
	node->task = *task;
	sim_graph_report_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, node, original, exec);
	return 0;
}

/* What runs, and how it is counted together: whole begins with the first node's begin. */
struct run {
	const struct sim_graph_exec *exec;
	struct sim_stream *stream;
	struct sim_operation whole;
	bool in_body; /* of a conditional node: the device launches that, and no record says for which call */
};

static int run_nodes(struct run *run, const struct sim_graph *graph);

static int run_task(struct run *run, const struct sim_node *node)
{
	struct sim_task task = node->task;
	struct sim_operation ran;

	task.operation.uncorrelated = run->in_body && sim_trace_correlation_id() != 0;
	int error = sim_task_run(&task, run->stream, run->exec->body.graph_id, node->node_id, &ran);
	if (error != 0)
		return error;
	if (run->whole.start_ns == 0)
		run->whole.start_ns = ran.start_ns;
	run->whole.end_ns = ran.end_ns;
	run->whole.sequence = ran.sequence ? ran.sequence : run->whole.sequence;
	return 0;
}

/* How often one of the bodies runs. */
static uint32_t times(const struct sim_node *node, uint32_t body)
{
	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return 1;
	if (node->condition == CU_GRAPH_COND_TYPE_WHILE)
		return node->value;
	if (node->condition == CU_GRAPH_COND_TYPE_SWITCH)
		return node->value == body;
	return (node->value == 0) == (body == 1);
}

static int run_bodies(struct run *run, const struct sim_node *node)
{
	bool outer = run->in_body;
	int error = 0;

	run->in_body = outer || node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
	for (uint32_t i = 0; i < node->nr_bodies; i++)
		for (uint32_t n = times(node, i); n > 0 && error == 0; n--)
			error = run_nodes(run, node->bodies[i]);
	run->in_body = outer;
	return error;
}

static int run_nodes(struct run *run, const struct sim_graph *graph)
{
	for (const struct sim_node *node = graph->nodes; node; node = node->next) {
		int error = 0;

		if (node->nr_bodies)
			error = run_bodies(run, node);
		else if (node->type != CU_GRAPH_NODE_TYPE_EMPTY)
			error = run_task(run, node);
		if (error != 0)
			return error;
	}
	return 0;
}

int sim_graph_exec_run(const struct sim_graph_exec *exec, struct sim_stream *stream)
{
	struct run run = {
		.exec = exec,
		.stream = stream,
		.whole = {.kind = SIM_GRAPH, .name = "", .graph_id = exec->body.graph_id},
	};
	int error = run_nodes(&run, &exec->body);

	if (run.whole.start_ns == 0 || !sim_trace_wants_graphs())
		return error;
	int whole_error = sim_stream_note(stream, &run.whole);
	return error != 0 ? error : whole_error;
}

/* One that is in none is no executable graph: of those, only the graph in one begins at its handle. */
struct sim_graph_exec *sim_graph_check_exec(void *handle)
{
	struct sim_graph *graph = sim_graph_check(handle);

	return graph && graph->executable ? handle : NULL;
}
