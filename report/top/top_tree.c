#include "top_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint32_t hash_of(uint64_t key)
{
	return (uint32_t)(key ^ key >> 32);
}

static bool has_key(const void *context, uint32_t id, const void *key)
{
	const struct top_sums *sums = context;

	return sums->nodes[id - 1].key == *(const uint64_t *)key;
}

uint32_t top_sums_find(const struct top_sums *sums, uint64_t key)
{
	const uint32_t id = hash_index_find(&sums->index, hash_of(key), has_key, sums, &key);

	return id ? id - 1 : TOP_SUMS_NONE;
}

uint32_t top_tree_get(struct top_sums *sums, enum top_level level, uint32_t parent, uint64_t key)
{
	const uint64_t own[] = {key, parent == TOP_SUMS_NONE ? 0 : sums->nodes[parent].key, level};
	struct top_node node = {
		.key = hash_index_digest(0, own, sizeof(own)),
		.level = level,
		.parent = parent,
		.first = TOP_SUMS_NONE,
		.next = TOP_SUMS_NONE,
		.name = "",
		.place = "",
	};
	const uint32_t at = top_sums_find(sums, node.key);

	if (at != TOP_SUMS_NONE)
		return at;
	if (level == TOP_KERNEL && sums->nr_kernels >= TOP_SUMS_KERNELS) {
		sums->kernels_left_out++;
		return TOP_SUMS_NONE;
	}
	if (array_reserve(&sums->nodes, &sums->room_nodes, sums->nr_nodes + 1ull,
			  sizeof(*sums->nodes)) ||
	    hash_index_insert(&sums->index, hash_of(node.key), sums->nr_nodes + 1))
		return TOP_SUMS_NONE;
	sums->nr_kernels += level == TOP_KERNEL;
	sums->nodes[sums->nr_nodes] = node;
	return sums->nr_nodes++;
}

/* ---- sums of outer nodes */

static void add_to_parent(struct top_sums *sums, const struct top_node *node)
{
	struct top_node *parent = &sums->nodes[node->parent];
	/* A GPU's busy time is not the sum of its streams'. */
	const bool sums_busy = node->level != TOP_STREAM;

	for (uint32_t i = 0; i < TOP_VALUES; i++)
		parent->values[i] += i != TOP_BUSY || sums_busy ? node->values[i] : 0;
	parent->is_running |= node->is_running;
	if (!sums_busy)
		return;
	parent->has_busy |= node->has_busy;
	parent->window_ns += node->window_ns;
	parent->uncaptured_ns += node->uncaptured_ns;
	if (node->heard_ns > parent->heard_ns)
		parent->heard_ns = node->heard_ns;
}

/* Processes of one rank that share a GPU have their busy times added up, and what was not captured, too. */
static void set_window(struct top_node *gpu)
{
	const uint64_t span_ns = gpu->last_ns - gpu->first_ns, busy_ns = gpu->values[TOP_BUSY];
	const uint64_t most_ns = span_ns > busy_ns ? span_ns - busy_ns : 0;

	if (gpu->uncaptured_ns > most_ns)
		gpu->uncaptured_ns = most_ns;
	gpu->window_ns = span_ns - gpu->uncaptured_ns;
}

static void add_level(struct top_sums *sums, enum top_level level)
{
	for (uint32_t i = 0; i < sums->nr_nodes; i++) {
		struct top_node *node = &sums->nodes[i];

		if (node->level != level)
			continue;
		if (level == TOP_GPU)
			set_window(node);
		add_to_parent(sums, node);
	}
}

/* Parents come before their children in the list. */
static void pass_down(struct top_sums *sums)
{
	for (uint32_t i = 0; i < sums->nr_nodes; i++) {
		struct top_node *node = &sums->nodes[i];

		if (node->level != TOP_STREAM && node->level != TOP_KERNEL)
			continue;
		node->window_ns = sums->nodes[node->parent].window_ns;
		node->heard_ns = sums->nodes[node->parent].heard_ns;
		if (node->level == TOP_KERNEL)
			node->is_running = sums->nodes[node->parent].is_running;
	}
}

/* ---- order */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Nodes without a rank or a GPU's index come last. */
static int by_place(const void *a, const void *b)
{
	const struct top_node *x = *(const struct top_node *const *)a;
	const struct top_node *y = *(const struct top_node *const *)b;
	int order = compare(x->parent, y->parent);

	if (!order)
		order = compare(x->level, y->level);
	if (!order && x->level == TOP_KERNEL)
		order = compare(y->values[TOP_BUSY], x->values[TOP_BUSY]);
	if (!order)
		order = compare((uint32_t)x->rank, (uint32_t)y->rank);
	if (!order)
		order = strcmp(x->place, y->place);
	if (!order)
		order = compare((uint32_t)x->gpu, (uint32_t)y->gpu);
	if (!order)
		order = compare(x->pid, y->pid);
	if (!order)
		order = compare(x->context_id, y->context_id);
	if (!order)
		order = compare(x->stream_id, y->stream_id);
	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : compare(x->copy_kind, y->copy_kind);
}

static int link_nodes(struct top_sums *sums)
{
	struct top_node **order = malloc(sums->nr_nodes * sizeof(struct top_node *));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < sums->nr_nodes; i++)
		order[i] = &sums->nodes[i];
	qsort(order, sums->nr_nodes, sizeof(*order), by_place);
	for (uint32_t i = sums->nr_nodes; i-- > 0;) {
		struct top_node *node = order[i];

		if (node->parent == TOP_SUMS_NONE)
			continue;
		node->next = sums->nodes[node->parent].first;
		sums->nodes[node->parent].first = (uint32_t)(node - sums->nodes);
	}
	free(order);
	return 0;
}

int top_tree_finish(struct top_sums *sums)
{
	static const enum top_level levels[] = {TOP_STREAM, TOP_GPU, TOP_RANK};

	sums->nodes[0].is_told = true;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		add_level(sums, levels[i]);
	pass_down(sums);
	for (uint32_t i = 0; i < sums->nr_nodes; i++) {
		sums->nr_ranks += sums->nodes[i].level == TOP_RANK;
		sums->nr_gpus += sums->nodes[i].level == TOP_GPU;
		sums->nr_running += sums->nodes[i].level == TOP_RANK && sums->nodes[i].is_running;
	}
	return link_nodes(sums);
}
