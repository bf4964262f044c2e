/* Which code made the nodes of CUDA graphs: node id to the stack that created the node, through
 * clones and instantiations. Any thread; lock-free, no allocation. Bounded: where too many nodes
 * share a place, the one that was entered longest ago is forgotten, as those of destroyed graphs
 * are in the end. */
#ifndef GRAPH_NODES_H
#define GRAPH_NODES_H

#include <stdint.h>

#include "graph_launches.h"

#define GRAPH_NODES_MAX (1u << 20)

struct graph_nodes;

/* mmap, not malloc. NULL: out of memory. The caller owns; destroy accepts NULL. */
struct graph_nodes *graph_nodes_create(void);
void graph_nodes_destroy(struct graph_nodes *nodes);

/* Forgets all nodes, and launches. No other thread may be in here. */
void graph_nodes_clear(struct graph_nodes *nodes);

/* Enters a node, or changes its stack. node_id: as cuptiGetGraphNodeId() gives it; 0 and 1 are
 * no node's (CUPTI counts graphs from 1, in the upper half) and are not entered. */
void graph_nodes_put(struct graph_nodes *nodes, uint64_t node_id, uint32_t stack_id);

/* RECORD_STACK_NONE: not known. */
uint32_t graph_nodes_get(const struct graph_nodes *nodes, uint64_t node_id);

/* An executable graph's id by its handle; 0: it is destroyed, or not known. */
void graph_nodes_put_exec(struct graph_nodes *nodes, const void *exec, uint32_t graph_id);
uint32_t graph_nodes_get_exec(const struct graph_nodes *nodes, const void *exec);

/* Launches of the graphs that the nodes are in. Borrowed until graph_nodes_destroy(). */
struct graph_launches *graph_nodes_launches(struct graph_nodes *nodes);

/* The launch of the graph that a node is in: graph_launches_get(). */
uint32_t graph_nodes_launch(const struct graph_nodes *nodes, uint64_t node_id);

#endif
