#include "report_ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ledger.h"

#define PREFIX    "[NVTX]"
#define SEPARATOR " > "

struct sums {
	bool range; /* this node and all nodes outside it are ranges */
	uint64_t count, ns;
};

static const char *name_of(const struct report_tree *tree, uint32_t node)
{
	return tree->strings[tree->nodes[node].name];
}

/* A parent has a lower index than its children. */
static void mark_ranges(const struct report_tree *tree, struct sums *sums)
{
	for (uint32_t node = 1; node < tree->nr_nodes; node++) {
		uint32_t parent = tree->nodes[node].parent;

		sums[node].range = (parent == REPORT_NODE_ROOT || sums[parent].range) &&
				   strncmp(name_of(tree, node), PREFIX, strlen(PREFIX)) == 0;
	}
}

static void add_leaf(const struct report_tree *tree, struct sums *sums,
		     const struct report_leaf *leaf)
{
	/* Kinds above these are not GPU work. */
	if (leaf->kind > REPORT_KIND_GRAPH)
		return;
	for (uint32_t node = leaf->node; node != REPORT_NODE_ROOT;
	     node = tree->nodes[node].parent) {
		if (!sums[node].range)
			continue;
		sums[node].count = ledger_add_saturating(sums[node].count, leaf->count);
		sums[node].ns = ledger_add_saturating(sums[node].ns, leaf->ns);
	}
}

static int label_of(const struct report_tree *tree, uint32_t node, struct report_range *range)
{
	size_t size = 1;

	range->depth = 0;
	for (uint32_t i = node; i != REPORT_NODE_ROOT; i = tree->nodes[i].parent) {
		size += strlen(name_of(tree, i)) + strlen(SEPARATOR);
		range->depth++;
	}
	range->label = malloc(size);
	if (!range->label)
		return -ENOMEM;
	/* The label is written from its end, because nodes are met from the inside out. */
	char *at = range->label + size - 1;
	*at = '\0';
	for (uint32_t i = node; i != REPORT_NODE_ROOT; i = tree->nodes[i].parent) {
		const char *name = name_of(tree, i) + strlen(PREFIX);

		if (i != node) {
			at -= strlen(SEPARATOR);
			memcpy(at, SEPARATOR, strlen(SEPARATOR));
		}
		at -= strlen(name);
		memcpy(at, name, strlen(name));
	}
	memmove(range->label, at, strlen(at) + 1);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct report_range *x = a, *y = b;
	int order = (x->ns < y->ns) - (x->ns > y->ns);

	return order ? order : strcmp(x->label, y->label);
}

static int add_ranges(struct report_ranges *ranges, const struct report_tree *tree,
		      const struct sums *sums)
{
	uint32_t nr_ranges = 0;

	for (uint32_t node = 1; node < tree->nr_nodes; node++)
		nr_ranges += sums[node].range && sums[node].count;
	ranges->ranges = calloc(nr_ranges ? nr_ranges : 1, sizeof(*ranges->ranges));
	if (!ranges->ranges)
		return -ENOMEM;
	for (uint32_t node = 1; node < tree->nr_nodes; node++) {
		struct report_range *range = &ranges->ranges[ranges->nr_ranges];

		if (!sums[node].range || sums[node].count == 0)
			continue;
		int error = label_of(tree, node, range);
		if (error)
			return error;
		range->count = sums[node].count;
		range->ns = sums[node].ns;
		ranges->nr_ranges++;
	}
	if (nr_ranges)
		qsort(ranges->ranges, nr_ranges, sizeof(*ranges->ranges), by_time);
	return 0;
}

int report_ranges_init(struct report_ranges *ranges, const struct report_tree *tree)
{
	struct sums *sums = calloc(tree->nr_nodes ? tree->nr_nodes : 1, sizeof(*sums));
	int error = sums ? 0 : -ENOMEM;

	*ranges = (struct report_ranges){0};
	if (!error) {
		mark_ranges(tree, sums);
		for (uint32_t i = 0; i < tree->nr_leaves; i++)
			add_leaf(tree, sums, &tree->leaves[i]);
		error = add_ranges(ranges, tree, sums);
	}
	free(sums);
	if (error)
		report_ranges_fini(ranges);
	return error;
}

void report_ranges_fini(struct report_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->nr_ranges; i++)
		free(ranges->ranges[i].label);
	free(ranges->ranges);
	*ranges = (struct report_ranges){0};
}
