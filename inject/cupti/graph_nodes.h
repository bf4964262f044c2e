/* Knows the code that made the nodes of CUDA graphs. It maps a node's id to the stack that created the node, also
 * through clones and instantiations. Any thread may call; lock-free, no allocation. The table is bounded: when too many
 * nodes share a place, the oldest entry is forgotten. So the nodes of destroyed graphs are forgotten in the end. */
#ifndef GRAPH_NODES_H
#define GRAPH_NODES_H

#include <stdint.h>

#include "graph_launches.h"

#define GRAPH_NODES_MAX (1u << 20)

struct graph_nodes;

/* Creates an empty table with mmap, not malloc. NULL: out of memory. The caller owns it; destroy accepts NULL. */
struct graph_nodes *graph_nodes_create(void);
void graph_nodes_destroy(struct graph_nodes *nodes);

/* Forgets all nodes and launches. No other thread may be in any function here. */
void graph_nodes_clear(struct graph_nodes *nodes);

/* Enters a node, or changes its stack. node_id is from cuptiGetGraphNodeId(). The ids 0 and 1 are never a node's,
 * because CUPTI counts graphs from 1 in the upper half. They are not entered. */
void graph_nodes_put(struct graph_nodes *nodes, uint64_t node_id, uint32_t stack_id);

/* Returns a node's stack. RECORD_STACK_NONE: not known. */
uint32_t graph_nodes_get(const struct graph_nodes *nodes, uint64_t node_id);

/* Stores or finds an executable graph's id by its handle; 0: the graph is destroyed, or not known. */
void graph_nodes_put_exec(struct graph_nodes *nodes, const void *exec, uint32_t graph_id);
uint32_t graph_nodes_get_exec(const struct graph_nodes *nodes, const void *exec);

/* Returns the launches of the graphs that the nodes are in. Borrowed until graph_nodes_destroy(). */
struct graph_launches *graph_nodes_launches(struct graph_nodes *nodes);

/* Returns the launch of the graph that a node is in, as graph_launches_get() does. */
uint32_t graph_nodes_launch(const struct graph_nodes *nodes, uint64_t node_id);

#endif
