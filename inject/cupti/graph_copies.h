/* The nodes that one thread is just copying into an executable graph. CUPTI numbers a copy when it is made, and again
 * while the executable graph is put together: the nodes of child graphs and of conditional bodies become nodes of the
 * executable graph itself, and only then have the ids that their records carry. Their handles stay what they were, and
 * answer the new ids once the executable graph is there (measured on CUPTI 13.0; tests/gpu/cuda_conformance checks it).
 * So handles are kept from the copy until then, and none beyond: of one call, on its own thread, while its nodes live.
 * Bounded: what finds no room is not kept. */
#ifndef GRAPH_COPIES_H
#define GRAPH_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_COPIES_MAX (1u << 18)
#define GRAPH_COPY_NONE  UINT64_MAX /* as a node's id: this is no copy */

struct graph_copy {
	void *node;       /* borrowed while it lives; NULL: gone */
	uint64_t node_id; /* the last of one that is gone; 0: to be asked for; GRAPH_COPY_NONE */
	uint32_t stack_id;
};

struct graph_copies;

/* mmap, not malloc. NULL: out of memory. The caller owns; destroy accepts NULL. */
struct graph_copies *graph_copies_create(void);
void graph_copies_destroy(struct graph_copies *copies);

/* A graph was created: nodes that are copied next may be its own, or those of graphs within it. Copies that were made
 * in another capture window are dropped. */
void graph_copies_begin(struct graph_copies *copies, uint16_t window, const void *graph);

void graph_copies_add(struct graph_copies *copies, void *node, uint32_t stack_id);

/* graph becomes an executable graph: only what was copied since it was created is kept. */
void graph_copies_settle(struct graph_copies *copies, const void *graph);

/* Whether an executable graph is just put together. */
bool graph_copies_is_settled(const struct graph_copies *copies);

/* The node goes, and node_id is the last that it has. Where no graph is settled
 * all is dropped: whoever destroys those copies may be another thread. */
void graph_copies_remove(struct graph_copies *copies, const void *node, uint64_t node_id);

/* The nodes that were copied into graph, settled; *count is how many. Borrowed until the next call. NULL: none. */
const struct graph_copy *graph_copies_of(const struct graph_copies *copies, const void *graph,
					 uint32_t *count);

void graph_copies_clear(struct graph_copies *copies);

/* A node was created, and node_id had displaced for its stack before. */
void graph_copies_note(struct graph_copies *copies, const void *node, uint64_t node_id,
		       uint32_t displaced);

/* The id under which node was created if that was the last that was noted, and what was displaced there; else 0.
 * Forgets it. */
uint64_t graph_copies_noted(struct graph_copies *copies, const void *node, uint32_t *displaced);

#endif
