#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t sample_add_string(struct sample *sample, const char *text)
{
	uint32_t i;

	for (i = 0; i < sample->tree.nr_strings; i++)
		if (strcmp(sample->strings[i], text) == 0)
			return i;
	if (i == MAX_STRINGS)
		abort();
	sample->strings[i] = strdup(text);
	sample->tree.nr_strings++;
	return i;
}

uint32_t sample_append_node(struct sample *sample, uint32_t parent, uint32_t name)
{
	if (sample->tree.nr_nodes == MAX_NODES)
		abort();
	sample->nodes[sample->tree.nr_nodes] = (struct report_node){parent, name};
	return sample->tree.nr_nodes++;
}

uint32_t sample_add_node(struct sample *sample, uint32_t parent, const char *text)
{
	uint32_t name = sample_add_string(sample, text);

	for (uint32_t i = 1; i < sample->tree.nr_nodes; i++)
		if (sample->nodes[i].parent == parent && sample->nodes[i].name == name)
			return i;
	return sample_append_node(sample, parent, name);
}

/* Nine tenths of a leaf's durations are in the bucket of their mean, and the others in that of a fifth more. */
static void give_durations(struct report_leaf *leaf)
{
	const uint64_t mean_ns = leaf->ns / (leaf->count ? leaf->count : 1);
	const uint64_t rare = leaf->count / 10;

	leaf->has_durations = true;
	if (duration_bins_add(&leaf->durations, duration_bucket(mean_ns), leaf->count - rare) ||
	    (rare &&
	     duration_bins_add(&leaf->durations, duration_bucket(mean_ns + mean_ns / 5), rare)))
		abort();
}

void sample_add_leaf(struct sample *sample, struct report_leaf leaf)
{
	struct report_tree *tree = &sample->tree;

	if (leaf.kind <= REPORT_KIND_GRAPH)
		give_durations(&leaf);
	if (tree->nr_leaves == MAX_LEAVES)
		abort();
	sample->leaves[tree->nr_leaves++] = leaf;
	tree->plane_totals[report_plane_of(leaf.kind)].count += leaf.count;
	tree->plane_totals[report_plane_of(leaf.kind)].ns += leaf.ns;
	if (leaf.kind == REPORT_KIND_KERNEL) {
		tree->kernels += leaf.count;
		tree->kernel_ns += leaf.ns;
	} else if (leaf.kind <= REPORT_KIND_GRAPH) {
		tree->copies += leaf.count;
		tree->copy_ns += leaf.ns;
		tree->fills += leaf.kind == REPORT_KIND_MEMSET ? leaf.count : 0;
		tree->memset_ns += leaf.kind == REPORT_KIND_MEMSET ? leaf.ns : 0;
	}
}

struct report_leaf sample_kernel_leaf(struct sample *sample, const char *name, uint64_t ns)
{
	return (struct report_leaf){
		.node = sample_add_node(sample, REPORT_NODE_ROOT, "main"),
		.name = sample_leaf_name(sample, 0, REPORT_KIND_KERNEL, name),
		.host = sample_add_string(sample, "node01"),
		.kind = REPORT_KIND_KERNEL,
		.count = 1,
		.ns = ns,
	};
}

uint32_t sample_leaf_name(struct sample *sample, int32_t gpu, uint32_t kind, const char *name)
{
	static const char *const kinds[] = {"Kernel", "Memcpy",   "Memset", "Graph",
					    "Sync",   "Overhead", "UM",     "Module"};
	static const char *const hosts[] = {"CPU", "Off-CPU", "GPU_Launch", "stall"};
	char text[512];

	if (kind == REPORT_KIND_IDLE)
		snprintf(text, sizeof(text), "[GPU%d_Idle]", gpu);
	else if (kind == REPORT_KIND_ENERGY)
		snprintf(text, sizeof(text), "[GPU%d_Energy]%s", gpu, name);
	else if (kind == REPORT_KIND_USE)
		snprintf(text, sizeof(text), "[GPU%d_Use]%s", gpu, name);
	else if (kind >= REPORT_KIND_HOST)
		snprintf(text, sizeof(text), "[%s]%s", hosts[kind - REPORT_KIND_HOST], name);
	else if (gpu < 0)
		snprintf(text, sizeof(text), "[GPU?_%s]%s", kinds[kind], name);
	else
		snprintf(text, sizeof(text), "[GPU%d_%s]%s", gpu, kinds[kind], name);
	return sample_add_string(sample, text);
}

void sample_add_process(struct sample *sample, const char *host, const char *command, uint32_t pid,
			int32_t rank, int unclean)
{
	sample->processes[sample->tree.nr_processes++] =
		(struct report_process){0,
					sample_add_string(sample, host),
					sample_add_string(sample, command),
					pid,
					rank,
					unclean};
}

void sample_add_notice(struct sample *sample, const char *text, uint32_t nr_processes)
{
	sample->notices[sample->tree.nr_notices++] =
		(struct report_notice){sample_add_string(sample, text), nr_processes};
}

void sample_add_loss(struct sample *sample, const char *reason, uint64_t count, uint64_t ns)
{
	sample->losses[sample->tree.nr_losses++] =
		(struct report_loss){.reason = sample_add_string(sample, reason),
				     .text = sample_add_string(sample, reason),
				     .count = count,
				     .ns = ns};
}
