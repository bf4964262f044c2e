/* Graphs, their nodes in the order in which they were added, and executable graphs. All changes are
 * reported to the tracer as CUPTI's resource callbacks. As with real graphs, one graph belongs to
 * one thread at a time. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_task.h"

struct sim_context;
struct sim_stream;

struct sim_node {
	uint64_t magic;
	struct sim_graph *graph;
	struct sim_node *next;
	uint64_t node_id;     /* graph_id << 32, and a number from 0 within the graph */
	uint64_t original_id; /* of the node that this is a copy of, if any */
	CUgraphNodeType type;
	struct sim_task task;    /* of kernels, copies and memsets */
	struct sim_graph *child; /* owns; of a child graph node, else NULL */
};

struct sim_graph {
	uint64_t magic;
	uint32_t graph_id; /* of the process, from 1; executable graphs count too */
	uint32_t next_node;
	struct sim_node *nodes, **nodes_end; /* owns */
	bool embedded;                       /* in a node or an executable graph */
	bool capture_failed;
};

struct sim_graph_exec {
	uint64_t magic;
	struct sim_graph *body; /* owns; its id is the executable graph's */
};

/* NULL: out of memory, as with all that create. */
struct sim_graph *sim_graph_create(void);
struct sim_graph *sim_graph_clone(const struct sim_graph *original);
void sim_graph_destroy(struct sim_graph *graph);

/* task: copied, NULL for a node that does nothing itself. child: is copied into the new node. */
struct sim_node *sim_graph_add(struct sim_graph *graph, CUgraphNodeType type,
			       const struct sim_task *task, const struct sim_graph *child);
void sim_graph_remove(struct sim_node *node);

struct sim_graph_exec *sim_graph_instantiate(const struct sim_graph *graph);
void sim_graph_exec_destroy(struct sim_graph_exec *exec);

/* Gives the nodes the tasks of graph's. Returns 0; -EINVAL: they are not as many or not of the same
 * types, and nothing was changed; *error_node is then the first of graph's that does not fit, NULL:
 * one is missing. */
int sim_graph_exec_update(struct sim_graph_exec *exec, const struct sim_graph *graph,
			  struct sim_node **error_node);

/* Gives the node that was made from original another task. Returns 0; -EINVAL: no such node, or its
 * type is another. */
int sim_graph_exec_set_task(struct sim_graph_exec *exec, struct sim_node *original,
			    const struct sim_task *task);

/* Runs all nodes on stream, in order. Returns 0; -ENOMEM: some did not run. */
int sim_graph_exec_run(const struct sim_graph_exec *exec, struct sim_stream *stream);

/* NULL: handle is none. */
struct sim_graph *sim_graph_check(void *handle);
struct sim_node *sim_graph_check_node(void *handle);
struct sim_graph_exec *sim_graph_check_exec(void *handle);

#endif
