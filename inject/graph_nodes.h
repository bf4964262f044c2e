/* Which code made the nodes of CUDA graphs: node id to the stack that created the node, through
 * clones and instantiations. Any thread; lock-free, no allocation. Bounded: where too many nodes
 * share a place, the one that was entered longest ago is forgotten, as those of destroyed graphs
 * are in the end. */
#ifndef GRAPH_NODES_H
#define GRAPH_NODES_H

#include <stdint.h>

#define GRAPH_NODES_MAX (1u << 20)

struct graph_nodes;

/* mmap, not malloc. NULL: out of memory. The caller owns; destroy accepts NULL. */
struct graph_nodes *graph_nodes_create(void);
void graph_nodes_destroy(struct graph_nodes *nodes);

/* Forgets all nodes. No other thread may be in here. */
void graph_nodes_clear(struct graph_nodes *nodes);

/* Enters a node, or changes its stack. node_id: as cuptiGetGraphNodeId() gives it; 0 and 1 are
 * no node's (CUPTI counts graphs from 1, in the upper half) and are not entered. */
void graph_nodes_put(struct graph_nodes *nodes, uint64_t node_id, uint32_t stack_id);

/* RECORD_STACK_NONE: not known. */
uint32_t graph_nodes_get(const struct graph_nodes *nodes, uint64_t node_id);

#endif
