/* Graphs, their nodes in the order in which they were added, and executable graphs. All changes are
 * reported to the tracer as CUPTI's resource callbacks. As with real graphs, one graph belongs to
 * one thread at a time. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_task.h"

#define SIM_BODIES_MAX 8u

struct sim_context;
struct sim_stream;

struct sim_node {
	uint64_t magic;
	struct sim_graph *graph;
	struct sim_node *next;
	uint64_t node_id;     /* graph_id << 32, and a number from 0 within the graph */
	uint64_t original_id; /* of the node that this is a copy of, if any */
	CUgraphNodeType type;
	struct sim_task task; /* of kernels, copies and memsets */
	/* Owns: a child graph, or the branches of a conditional node. */
	struct sim_graph *bodies[SIM_BODIES_MAX];
	CUgraph handles[SIM_BODIES_MAX]; /* of bodies */
	uint32_t nr_bodies;
	CUgraphConditionalNodeType condition;
	uint32_t value; /* of the condition; a loop runs so often */
};

struct sim_graph {
	uint64_t magic;
	uint32_t graph_id; /* of the process, from 1; executable graphs count too */
	uint32_t next_node;
	struct sim_node *nodes, **nodes_end; /* owns */
	bool embedded;                       /* in a node or an executable graph */
	bool capture_failed;
	bool conditional;  /* has a conditional node at some level */
	bool instantiated; /* at least once */
	bool executable;   /* is what begins a struct sim_graph_exec */
	bool dissolved;    /* to CUPTI its nodes are now the executable graph's, and it is gone */
};

/* As with the real driver, the handle and the id of an executable graph are those of the graph in it. */
struct sim_graph_exec {
	struct sim_graph body;
	struct sim_graph *rest; /* owns; a graph that goes with it */
};

/* NULL: out of memory, as with all that create. */
struct sim_graph *sim_graph_create(void);
struct sim_graph *sim_graph_clone(const struct sim_graph *original);
void sim_graph_destroy(struct sim_graph *graph);

/* task: copied, NULL for a node that does nothing itself. child: is copied into the new node. */
struct sim_node *sim_graph_add(struct sim_graph *graph, CUgraphNodeType type,
			       const struct sim_task *task, const struct sim_graph *child);
/* With nr_bodies (1 to SIM_BODIES_MAX) empty bodies. */
struct sim_node *sim_graph_add_conditional(struct sim_graph *graph,
					   CUgraphConditionalNodeType condition, uint32_t nr_bodies,
					   uint32_t value);
void sim_graph_remove(struct sim_node *node);

/* Copies nodes one by one, with all that is in them, into a graph that was created for that. false: out of memory; what
 * is there so far stays. */
bool sim_graph_copy_nodes(struct sim_graph *copy, const struct sim_graph *original);

/* A graph that nobody was told of yet; in zeroed memory, or NULL: in its own. */
struct sim_graph *sim_graph_init(struct sim_graph *memory);
void sim_graph_free(struct sim_graph *graph);

/* The tracer hears of a graph, a node or an executable graph. All but the first may be NULL. */
void sim_graph_report(uint32_t cbid, const struct sim_graph *graph,
		      const struct sim_graph *original);
void sim_graph_report_node(uint32_t cbid, const struct sim_node *node,
			   const struct sim_node *original, const struct sim_graph_exec *exec);
void sim_graph_report_exec(uint32_t cbid, const struct sim_graph_exec *exec,
			   const struct sim_graph *graph);

struct sim_graph_exec *sim_graph_instantiate(struct sim_graph *graph);
void sim_graph_exec_destroy(struct sim_graph_exec *exec);

/* Gives the nodes the tasks of graph's. Returns 0; -EINVAL: they are not as many or not of the same
 * types, and nothing was changed; *error_node is then the first of graph's that does not fit, NULL:
 * one is missing. */
int sim_graph_exec_update(struct sim_graph_exec *exec, const struct sim_graph *graph,
			  struct sim_node **error_node);

/* Gives the nodes of the child graph that was made from original's the tasks of graph's. As above. */
int sim_graph_exec_set_child(struct sim_graph_exec *exec, struct sim_node *original,
			     const struct sim_graph *graph);

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
