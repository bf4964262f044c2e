#include "graph_launches.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* graph_launch.graph is the graph's id, above the correlation id of its latest launch. Calls have ids from 1. These
 * values belong to no call and no graph: */
#define SPOILED       0u
#define ENDED         (1ull << 63) /* graph ids are far from as many */
#define ID(graph)     ((uint32_t)((graph) >> 32) & 0x7fffffffu)
#define ENTRY(id, of) ((uint64_t)(id) << 32 | (of))

/* Returns the graph's place, or NULL. */
static struct graph_launch *find(struct graph_launch *set, uint32_t graph_id)
{
	for (uint32_t i = 0; i < GRAPH_LAUNCHES_WAYS; i++) {
		if (ID(atomic_load_explicit(&set[i].graph, memory_order_acquire)) == graph_id)
			return &set[i];
	}
	return NULL;
}

static void refuse(struct graph_launches *launches, uint32_t graph_id)
{
	uint32_t refused = atomic_load_explicit(&launches->refused, memory_order_relaxed);

	while (refused < graph_id &&
	       !atomic_compare_exchange_weak_explicit(&launches->refused, &refused, graph_id,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* Takes a free place for the graph, or a destroyed graph's. The place is spoiled until the launch is entered. NULL: no
 * place is free. */
static struct graph_launch *claim(struct graph_launches *launches, struct graph_launch *set,
				  uint32_t graph_id)
{
	if (graph_id <= atomic_load_explicit(&launches->refused, memory_order_relaxed))
		return NULL;
	for (uint32_t i = 0; i < 2 * GRAPH_LAUNCHES_WAYS; i++) {
		struct graph_launch *launch = &set[i % GRAPH_LAUNCHES_WAYS];
		uint64_t held = atomic_load_explicit(&launch->graph, memory_order_relaxed);

		if (held != 0 && (i < GRAPH_LAUNCHES_WAYS || !(held & ENDED)))
			continue;
		if (atomic_compare_exchange_strong_explicit(
			    &launch->graph, &held, ENTRY(graph_id, SPOILED), memory_order_acq_rel,
			    memory_order_relaxed))
			return launch;
	}
	refuse(launches, graph_id);
	return NULL;
}

static struct graph_launch *set_of(struct graph_launches *launches, uint32_t graph_id)
{
	return launches->sets[graph_id % GRAPH_LAUNCHES_SETS];
}

void graph_launches_put(struct graph_launches *launches, uint32_t graph_id, uint32_t correlation_id,
			uint32_t stack_id, uint32_t tid)
{
	struct graph_launch *set = set_of(launches, graph_id), *launch = find(set, graph_id);
	uint64_t place = (uint64_t)stack_id << 32 | tid;

	if (graph_id == 0)
		return;
	if (!launch) {
		launch = claim(launches, set, graph_id);
		if (!launch)
			return;
		atomic_store_explicit(&launch->place, place, memory_order_relaxed);
	} else if (atomic_load_explicit(&launch->place, memory_order_relaxed) != place ||
		   (uint32_t)atomic_load_explicit(&launch->graph, memory_order_relaxed) ==
			   SPOILED) {
		correlation_id = SPOILED;
	}
	atomic_store_explicit(&launch->graph, ENTRY(graph_id, correlation_id),
			      memory_order_release);
}

void graph_launches_spoil(struct graph_launches *launches, uint32_t graph_id)
{
	struct graph_launch *set = set_of(launches, graph_id), *launch = find(set, graph_id);

	if (graph_id != 0 && !launch)
		launch = claim(launches, set, graph_id);
	if (graph_id != 0 && launch)
		atomic_store_explicit(&launch->graph, ENTRY(graph_id, SPOILED),
				      memory_order_release);
}

void graph_launches_end(struct graph_launches *launches, uint32_t graph_id)
{
	struct graph_launch *launch = find(set_of(launches, graph_id), graph_id);

	if (graph_id != 0 && launch)
		atomic_fetch_or_explicit(&launch->graph, ENDED, memory_order_relaxed);
}

uint32_t graph_launches_get(const struct graph_launches *launches, uint32_t graph_id)
{
	const struct graph_launch *set = launches->sets[graph_id % GRAPH_LAUNCHES_SETS];

	for (uint32_t i = 0; graph_id != 0 && i < GRAPH_LAUNCHES_WAYS; i++) {
		uint64_t graph = atomic_load_explicit(&set[i].graph, memory_order_acquire);

		if (ID(graph) == graph_id)
			return (uint32_t)graph;
	}
	return 0;
}
