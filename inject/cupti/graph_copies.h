/* Keeps the nodes that one thread is copying into an executable graph. CUPTI numbers a copy when it is made, and again
 * while the executable graph is put together. The nodes of child graphs and of conditional bodies become nodes of the
 * executable graph itself, and only then get the ids that their records carry. Their handles stay the same, and give
 * the new ids once the executable graph is complete (measured on CUPTI 13.0; tests/gpu/cuda_conformance checks it).
 *
 * So handles are kept from the copy until then, and no longer. They belong to one call, on that call's thread, while
 * its nodes live. The number is bounded; copies that find no room are not kept. */
#ifndef GRAPH_COPIES_H
#define GRAPH_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_COPIES_MAX (1u << 18)
#define GRAPH_COPY_NONE  UINT64_MAX /* in place of a node's id: the entry is no copy */

struct graph_copy {
	void *node; /* borrowed while the node lives; NULL: the node is gone */
	/* last id of a node that is gone; 0: CUPTI is still to be asked; GRAPH_COPY_NONE */
	uint64_t node_id;
	uint32_t stack_id;
};

struct graph_copies;

/* Creates an empty table with mmap, not malloc. NULL: out of memory. The caller owns it; destroy accepts NULL. */
struct graph_copies *graph_copies_create(void);
void graph_copies_destroy(struct graph_copies *copies);

/* Tells that a graph was created. Nodes that are copied next may belong to it, or to graphs within it. Copies that were
 * made in another capture window are dropped. */
void graph_copies_begin(struct graph_copies *copies, uint16_t window, const void *graph);

void graph_copies_add(struct graph_copies *copies, void *node, uint32_t stack_id);

/* Tells that graph becomes an executable graph, and settles it: keeps only what was copied since graph was created. */
void graph_copies_settle(struct graph_copies *copies, const void *graph);

/* Returns whether an executable graph is being put together. */
bool graph_copies_is_settled(const struct graph_copies *copies);

/* Tells that a node goes; node_id is its last id. If no graph is settled, all copies are dropped, because another
 * thread may destroy the nodes. */
void graph_copies_remove(struct graph_copies *copies, const void *node, uint64_t node_id);

/* Returns the nodes that were copied into graph, which must be settled; *count is their number. Borrowed until the next
 * call. NULL: none. */
const struct graph_copy *graph_copies_of(const struct graph_copies *copies, const void *graph,
					 uint32_t *count);

void graph_copies_clear(struct graph_copies *copies);

/* Notes that a node was created under node_id, and which stack that id had before. */
void graph_copies_note(struct graph_copies *copies, const void *node, uint64_t node_id,
		       uint32_t displaced);

/* If node was the last that was noted, returns the id of that note and its displaced stack; otherwise returns 0.
 * Forgets the note. */
uint64_t graph_copies_noted(struct graph_copies *copies, const void *node, uint32_t *displaced);

#endif
