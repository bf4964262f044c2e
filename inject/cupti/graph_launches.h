/* Knows the launch that the bodies of conditional nodes belong to. Their records carry their executable graph's id and
 * no correlation id (CUPTI 13.0, as measured). If a graph is always launched with one stack on one thread, its bodies
 * belong to that stack. Otherwise the launch cannot be known, and none is better than a wrong one. Any thread may call;
 * lock-free, no allocation. The table is bounded; graphs that find no room have no launch. */
#ifndef GRAPH_LAUNCHES_H
#define GRAPH_LAUNCHES_H

#include <stdint.h>

#define GRAPH_LAUNCHES_WAYS 8u
#define GRAPH_LAUNCHES_SETS 512u

/* A zeroed table is empty. */
struct graph_launches {
	struct graph_launch {
		_Atomic uint64_t graph; /* 0: free */
		_Atomic uint64_t place; /* the stack's id above the thread's id */
	} sets[GRAPH_LAUNCHES_SETS][GRAPH_LAUNCHES_WAYS];
	/* for graphs up to this id, the first launch may have been missed */
	_Atomic uint32_t refused;
};

/* Notes a launch of a graph. Ids are never used again. A graph has one launch at a time. */
void graph_launches_put(struct graph_launches *launches, uint32_t graph_id, uint32_t correlation_id,
			uint32_t stack_id, uint32_t tid);

/* Notes a launch of which the stack or the thread is not known. */
void graph_launches_spoil(struct graph_launches *launches, uint32_t graph_id);

/* Notes that the graph is destroyed. Its place may be taken when no other is free. */
void graph_launches_end(struct graph_launches *launches, uint32_t graph_id);

/* Returns the correlation id of a launch, if all launches of the graph were alike; 0: there is none. */
uint32_t graph_launches_get(const struct graph_launches *launches, uint32_t graph_id);

#endif
