#include "graph_copies.h"

#include <stddef.h>
#include <sys/mman.h>

#include "proto/record.h"
#include "proto/sparse_memory.h"

#define KEPT_COPIES 1024u /* more are given back to the system */

struct graph_copies {
	uint32_t count;
	uint32_t first; /* first copy of the executable graph that is put together */
	uint32_t next;  /* where to look for the next node that goes: nodes go mostly in order */
	uint16_t window;
	const void *settled; /* that graph; NULL: none is */
	const void *noted;   /* the node that was created last */
	uint64_t noted_id;
	uint32_t displaced;
	/* The beginning of a graph is also an entry, whose node is the graph. */
	struct graph_copy copies[GRAPH_COPIES_MAX];
};

struct graph_copies *graph_copies_create(void)
{
	return sparse_memory_map(sizeof(struct graph_copies), PROT_READ | PROT_WRITE);
}

void graph_copies_destroy(struct graph_copies *copies)
{
	if (copies)
		munmap(copies, sizeof(*copies));
}

void graph_copies_clear(struct graph_copies *copies)
{
	uint16_t window = copies->window;

	/* Private and anonymous, it reads as zero afterwards. */
	if (copies->count > KEPT_COPIES)
		sparse_memory_clear(copies, sizeof(*copies));
	copies->count = 0;
	copies->first = 0;
	copies->next = 0;
	copies->settled = NULL;
	copies->noted = NULL;
	copies->window = window;
}

void graph_copies_begin(struct graph_copies *copies, uint16_t window, const void *graph)
{
	if (copies->settled || copies->window != window || copies->count >= GRAPH_COPIES_MAX)
		graph_copies_clear(copies);
	copies->window = window;
	copies->copies[copies->count++] =
		(struct graph_copy){.node = (void *)(uintptr_t)graph, .node_id = GRAPH_COPY_NONE};
}

void graph_copies_add(struct graph_copies *copies, void *node, uint32_t stack_id)
{
	if (copies->count < GRAPH_COPIES_MAX && !copies->settled)
		copies->copies[copies->count++] =
			(struct graph_copy){.node = node, .stack_id = stack_id};
}

void graph_copies_settle(struct graph_copies *copies, const void *graph)
{
	for (uint32_t i = copies->count; i > 0 && graph && !copies->settled; i--) {
		const struct graph_copy *copy = &copies->copies[i - 1];

		if (copy->node_id != GRAPH_COPY_NONE || copy->node != graph)
			continue;
		copies->first = copies->next = i;
		copies->settled = graph;
		return;
	}
	graph_copies_clear(copies);
}

static bool take(struct graph_copy *copy, const void *node, uint64_t node_id)
{
	if (copy->node != node || copy->node_id != 0)
		return false;
	copy->node = NULL;
	copy->node_id = node_id;
	return true;
}

bool graph_copies_is_settled(const struct graph_copies *copies)
{
	return copies->settled != NULL;
}

void graph_copies_remove(struct graph_copies *copies, const void *node, uint64_t node_id)
{
	uint32_t count = copies->count - copies->first, begin = copies->next - copies->first;

	if (!copies->settled) {
		if (copies->count)
			graph_copies_clear(copies);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = copies->first + (begin + i) % count;

		if (take(&copies->copies[at], node, node_id)) {
			copies->next = at;
			return;
		}
	}
}

const struct graph_copy *graph_copies_of(const struct graph_copies *copies, const void *graph,
					 uint32_t *count)
{
	*count = 0;
	if (!graph || copies->settled != graph)
		return NULL;
	*count = copies->count - copies->first;
	return &copies->copies[copies->first];
}

void graph_copies_note(struct graph_copies *copies, const void *node, uint64_t node_id,
		       uint32_t displaced)
{
	copies->noted = node;
	copies->noted_id = node_id;
	copies->displaced = displaced;
}

uint64_t graph_copies_noted(struct graph_copies *copies, const void *node, uint32_t *displaced)
{
	bool same = node && copies->noted == node;

	copies->noted = NULL;
	*displaced = same ? copies->displaced : RECORD_STACK_NONE;
	return same ? copies->noted_id : 0;
}
