/* Which launch the bodies of conditional nodes belong to: their records carry their executable graph's id and no
 * correlation id (CUPTI 13.0, as measured). A graph that is always launched with one stack on one thread has its bodies
 * under that; of one that is not, nobody knows which launch it was, and none is better than a wrong one.
 * Any thread; lock-free, no allocation. Bounded: graphs that find no room have no launch. */
#ifndef GRAPH_LAUNCHES_H
#define GRAPH_LAUNCHES_H

#include <stdint.h>

#define GRAPH_LAUNCHES_WAYS 8u
#define GRAPH_LAUNCHES_SETS 512u

/* Zeroed: empty. */
struct graph_launches {
	struct graph_launch {
		_Atomic uint64_t graph; /* 0: free */
		_Atomic uint64_t place; /* the stack's id, below it the thread's */
	} sets[GRAPH_LAUNCHES_SETS][GRAPH_LAUNCHES_WAYS];
	_Atomic uint32_t refused; /* no graph up to this one is known from its first launch on */
};

/* graph_id was launched (ids are not used again; one launch of a graph at a time). */
void graph_launches_put(struct graph_launches *launches, uint32_t graph_id, uint32_t correlation_id,
			uint32_t stack_id, uint32_t tid);

/* It was launched in a way that is not known. */
void graph_launches_spoil(struct graph_launches *launches, uint32_t graph_id);

/* The graph is destroyed: its place may be taken when there is no other. */
void graph_launches_end(struct graph_launches *launches, uint32_t graph_id);

/* The correlation id of a launch that is like all of the graph's; 0: there is none. */
uint32_t graph_launches_get(const struct graph_launches *launches, uint32_t graph_id);

#endif
