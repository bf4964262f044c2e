#include "graph_nodes.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "proto/record.h"
#include "proto/sparse_memory.h"

/* Without this an unknown executable graph would look like a known one. */
static_assert(RECORD_STACK_NONE == 0, "nothing known is 0");

#define WAYS 4u
#define SETS (GRAPH_NODES_MAX / WAYS)
#define BUSY 1u /* in place of a node's id: a thread writes the entry */

struct entry {
	_Atomic uint64_t node_id; /* 0: free; BUSY */
	_Atomic uint64_t value;   /* the stack's id, above it the order of entry */
};

struct graph_nodes {
	_Atomic uint32_t order;
	struct graph_launches launches;
	_Alignas(64) struct entry sets[SETS][WAYS];
};

struct graph_nodes *graph_nodes_create(void)
{
	return sparse_memory_map(sizeof(struct graph_nodes), PROT_READ | PROT_WRITE);
}

void graph_nodes_destroy(struct graph_nodes *nodes)
{
	if (nodes)
		munmap(nodes, sizeof(*nodes));
}

void graph_nodes_clear(struct graph_nodes *nodes)
{
	/* Gives the memory back. It is private and anonymous, so it reads as zero afterwards. */
	sparse_memory_clear(nodes, sizeof(*nodes));
}

static uint32_t set_of(uint64_t node_id)
{
	return (uint32_t)((node_id * 0x9e3779b97f4a7c15u) >> 32) % SETS;
}

static uint32_t order_of(const struct entry *entry)
{
	return (uint32_t)(atomic_load_explicit(&entry->value, memory_order_relaxed) >> 32);
}

/* Returns the node's entry, or a free one, or the oldest. *node_id is the id in it now. NULL: other threads write all
 * entries of the set. */
static struct entry *find_place(struct entry *set, uint64_t wanted, uint32_t order,
				uint64_t *node_id)
{
	struct entry *found = NULL;
	uint32_t found_age = 0;

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t id = atomic_load_explicit(&set[i].node_id, memory_order_relaxed);
		/* Serial numbers wrap: ages do not. */
		uint32_t age = id ? order - order_of(&set[i]) : UINT32_MAX;

		if (id == BUSY)
			continue;
		if (id == wanted)
			age = UINT32_MAX;
		if (!found || age > found_age || id == wanted) {
			found = &set[i];
			found_age = age;
			*node_id = id;
		}
		if (id == wanted)
			break;
	}
	return found;
}

void graph_nodes_put(struct graph_nodes *nodes, uint64_t node_id, uint32_t stack_id)
{
	uint32_t order = atomic_fetch_add_explicit(&nodes->order, 1, memory_order_relaxed);
	struct entry *set = nodes->sets[set_of(node_id)], *entry;
	uint64_t held = 0;

	if (node_id <= BUSY)
		return;
	/* A thread that loses the race for an entry takes the next. An entry is busy for two stores only. */
	do {
		entry = find_place(set, node_id, order, &held);
	} while (!entry || !atomic_compare_exchange_weak_explicit(&entry->node_id, &held, BUSY,
								  memory_order_acquire,
								  memory_order_relaxed));
	atomic_store_explicit(&entry->value, (uint64_t)order << 32 | stack_id,
			      memory_order_release);
	atomic_store_explicit(&entry->node_id, node_id, memory_order_release);
}

uint32_t graph_nodes_get(const struct graph_nodes *nodes, uint64_t node_id)
{
	const struct entry *set = nodes->sets[set_of(node_id)];

	if (node_id <= BUSY)
		return RECORD_STACK_NONE;
	for (uint32_t i = 0; i < WAYS; i++) {
		if (atomic_load_explicit(&set[i].node_id, memory_order_acquire) != node_id)
			continue;
		uint64_t value = atomic_load_explicit(&set[i].value, memory_order_acquire);
		/* Another node may have taken the entry between the two loads. */
		if (atomic_load_explicit(&set[i].node_id, memory_order_relaxed) == node_id)
			return (uint32_t)value;
	}
	return RECORD_STACK_NONE;
}

/* Returns a handle's key. Handles share the table with nodes: the upper bit is set in no node's id, and in no
 * address. */
static uint64_t key_of(const void *exec)
{
	return (uint64_t)(uintptr_t)exec | 1ull << 63;
}

void graph_nodes_put_exec(struct graph_nodes *nodes, const void *exec, uint32_t graph_id)
{
	graph_nodes_put(nodes, key_of(exec), graph_id);
}

uint32_t graph_nodes_get_exec(const struct graph_nodes *nodes, const void *exec)
{
	return graph_nodes_get(nodes, key_of(exec));
}

struct graph_launches *graph_nodes_launches(struct graph_nodes *nodes)
{
	return &nodes->launches;
}

uint32_t graph_nodes_launch(const struct graph_nodes *nodes, uint64_t node_id)
{
	return graph_launches_get(&nodes->launches, (uint32_t)(node_id >> 32));
}
