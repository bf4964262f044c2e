/* The graph from which Inductor generated a file, as PyTorch prints it: one node a line, below a comment with the line
 * of the program that it was traced from.
 *	# File: /home/alice/model.py:57 in forward, code: x = torch.relu(x)
 *	relu: "f32[8, 16][16, 1]cuda:0" = torch.ops.aten.relu.default(add);  add = None
 * The comment holds for the nodes below it, up to the next one, or to "# No stacktrace found for following nodes".
 * PyTorch 2.11, torch/fx/graph.py. Pure; any thread. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "source_list.h"
#include "text_span.h"

#define MODEL_GRAPH_NODES_MAX (1u << 18)

struct model_graph;

struct model_node {
	struct text_span name;
	struct text_span target; /* the function that it calls: torch.ops.aten.relu.default */
	struct source_line source;
};

/* Reads the nodes of the outermost graph. text is borrowed until model_graph_destroy(), which accepts NULL. NULL: out
 * of memory, or more nodes than MODEL_GRAPH_NODES_MAX. */
struct model_graph *model_graph_create(struct text_span text);
void model_graph_destroy(struct model_graph *graph);

/* Returns whether graphs lie within this one. Their nodes may have the names of its own nodes. */
bool model_graph_is_nested(const struct model_graph *graph);

uint32_t model_graph_count(const struct model_graph *graph);

/* Returns a node, in the order of the graph. Borrowed until model_graph_destroy(). */
const struct model_node *model_graph_node(const struct model_graph *graph, uint32_t index);

/* NULL: the graph has no such node. */
const struct model_node *model_graph_find(const struct model_graph *graph, struct text_span name);

#endif
