#include "report_diff.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_groups.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "report/statistics/outlier.h"

/* One rank's part of a merged leaf. */
struct part {
	uint32_t node, name, plane, kind;
	int32_t rank;
	struct report_diff_amount amount;
};

struct builder {
	const struct report_tree *tree;
	struct report_diff *diff;
	int32_t rank, against;
	const char **strings; /* the tree's strings, and those in made */
	char **made;          /* owns the new strings */
	uint32_t nr_strings, nr_made;
	/* owns; for each string of the tree: its name in the difference; 0: not made yet */
	uint32_t *names;
	struct hash_index made_index;
	struct report_node *nodes; /* owns; those of the difference */
	uint32_t nr_nodes;
	uint32_t *node_of; /* owns; for each node of the tree: its node in the difference */
	struct hash_index node_index; /* id: node */
	struct part *parts;
	uint32_t nr_parts;
	int32_t *others; /* owns; the other ranks, each once */
	uint32_t nr_others;
	struct report_leaf *leaves;
	struct report_diff_amount *before;
	uint64_t *values; /* owns */
};

/* The difference and its memory. */
struct owner {
	struct report_diff diff; /* first */
	const char **strings;
	char **made;
	uint32_t nr_made;
	struct report_node *nodes;
};

/* ---- names */

static bool has_gpu(const char *name)
{
	return strncmp(name, "[GPU", 4) == 0 && (isdigit((unsigned char)name[4]) || name[4] == '?');
}

/* Returns "[GPU_Kernel]gemm" for "[GPU3_Kernel]gemm", and "[stall]wait" for that and "[stall]≈wait".
 * NULL: out of memory. */
static char *common_name(const char *name)
{
	const char *at = name + 4;
	char *text;
	int length;

	if (has_gpu(name)) {
		while (isdigit((unsigned char)*at) || *at == '?')
			at++;
		length = asprintf(&text, "[GPU%s", at);
	} else {
		length = asprintf(&text, "%.*s%s", (int)strcspn(name, "]") + 1, name,
				  report_groups_activity(name));
	}
	return length < 0 ? NULL : text;
}

static bool made_equals(const void *context, uint32_t id, const void *key)
{
	const struct builder *builder = context;

	return strcmp(builder->made[id - 1], key) == 0;
}

static int name_common(struct builder *builder, uint32_t name, bool is_stall, uint32_t *found)
{
	const char *text = builder->tree->strings[name];

	*found = name;
	if (!has_gpu(text) && !is_stall)
		return 0;
	*found = builder->names[name];
	if (*found)
		return 0;
	char *made = common_name(text);
	if (!made)
		return -ENOMEM;
	uint32_t hash = hash_index_hash(made, (uint32_t)strlen(made));
	uint32_t id = hash_index_find(&builder->made_index, hash, made_equals, builder, made);
	if (id) {
		free(made);
	} else {
		id = builder->nr_made + 1;
		builder->made[builder->nr_made++] = made;
		builder->strings[builder->nr_strings++] = made;
		if (hash_index_insert(&builder->made_index, hash, id))
			return -ENOMEM;
	}
	*found = builder->tree->nr_strings + id - 1;
	builder->names[name] = *found;
	return 0;
}

/* ---- nodes */

static bool node_equals(const void *context, uint32_t id, const void *key)
{
	const struct builder *builder = context;

	return memcmp(&builder->nodes[id], key, sizeof(struct report_node)) == 0;
}

/* Kernels are frames where their stalls are the leaves: each GPU has its own node for one. */
static int join_nodes(struct builder *builder)
{
	const struct report_tree *tree = builder->tree;
	int error = 0;

	builder->nr_nodes = 1; /* the root */
	for (uint32_t i = 1; i < tree->nr_nodes && !error; i++) {
		struct report_node node = {.parent = builder->node_of[tree->nodes[i].parent]};

		error = name_common(builder, tree->nodes[i].name, false, &node.name);
		const uint32_t hash = hash_index_hash(&node, sizeof(node));
		uint32_t *id = &builder->node_of[i];
		*id = hash_index_find(&builder->node_index, hash, node_equals, builder, &node);
		if (*id || error)
			continue;
		*id = builder->nr_nodes++;
		builder->nodes[*id] = node;
		error = hash_index_insert(&builder->node_index, hash, *id);
	}
	return error;
}

/* ---- parts */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(const struct part *a, const struct part *b)
{
	int order = compare(a->plane, b->plane);

	if (!order)
		order = compare(a->node, b->node);
	return order ? order : compare(a->name, b->name);
}

static int by_place(const void *a, const void *b)
{
	int order = compare_places(a, b);

	return order ? order
		     : compare(((const struct part *)a)->rank, ((const struct part *)b)->rank);
}

static int by_rank(const void *a, const void *b)
{
	return compare(*(const int32_t *)a, *(const int32_t *)b);
}

static void merge_parts(struct builder *builder)
{
	uint32_t count = 0;

	qsort(builder->parts, builder->nr_parts, sizeof(*builder->parts), by_place);
	for (uint32_t i = 0; i < builder->nr_parts; i++) {
		struct part *part = &builder->parts[i];

		if (count == 0 || by_place(&builder->parts[count - 1], part) != 0) {
			builder->parts[count++] = *part;
			continue;
		}
		builder->parts[count - 1].amount.count += part->amount.count;
		builder->parts[count - 1].amount.ns += part->amount.ns;
		builder->parts[count - 1].amount.bytes += part->amount.bytes;
	}
	builder->nr_parts = count;
}

static int collect(struct builder *builder)
{
	const struct report_tree *tree = builder->tree;
	uint32_t count = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		struct part part = {.node = builder->node_of[leaf->node],
				    .plane = report_plane_of(leaf->kind),
				    .kind = leaf->kind,
				    .rank = leaf->rank,
				    .amount = {leaf->count, leaf->ns, leaf->bytes}};

		if (leaf->rank < 0)
			continue;
		int error = name_common(builder, leaf->name, leaf->kind == REPORT_KIND_STALL,
					&part.name);
		if (error)
			return error;
		if (leaf->rank != builder->rank)
			builder->others[builder->nr_others++] = leaf->rank;
		builder->parts[builder->nr_parts++] = part;
	}
	qsort(builder->others, builder->nr_others, sizeof(*builder->others), by_rank);
	for (uint32_t i = 0; i < builder->nr_others; i++)
		if (count == 0 || builder->others[count - 1] != builder->others[i])
			builder->others[count++] = builder->others[i];
	builder->nr_others = count;
	merge_parts(builder);
	return 0;
}

/* ---- leaves */

/* Returns the other side's value of parts[0..count), which has one part of each rank. Ranks without a part count as
 * 0. */
static uint64_t other_of(struct builder *builder, const struct part *parts, uint32_t count,
			 size_t offset)
{
	uint32_t nr_values = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&parts[i].amount + offset, sizeof(value));
		if (parts[i].rank == builder->against)
			return value;
		if (parts[i].rank != builder->rank)
			builder->values[nr_values++] = value;
	}
	if (builder->against != REPORT_DIFF_MEDIAN)
		return 0;
	while (nr_values < builder->nr_others)
		builder->values[nr_values++] = 0;
	return outlier_median(builder->values, nr_values);
}

static void add_leaf(struct builder *builder, const struct part *parts, uint32_t count)
{
	struct report_tree *tree = &builder->diff->tree;
	struct report_leaf leaf = {.node = parts->node,
				   .name = parts->name,
				   .kind = parts->kind,
				   .rank = builder->rank,
				   .gpu = REPORT_GPU_NONE};
	const struct report_diff_amount before = {
		other_of(builder, parts, count, offsetof(struct report_diff_amount, count)),
		other_of(builder, parts, count, offsetof(struct report_diff_amount, ns)),
		other_of(builder, parts, count, offsetof(struct report_diff_amount, bytes)),
	};

	for (uint32_t i = 0; i < count; i++)
		if (parts[i].rank == builder->rank) {
			leaf.count = parts[i].amount.count;
			leaf.ns = parts[i].amount.ns;
			leaf.bytes = parts[i].amount.bytes;
		}
	if (!leaf.count && !before.count && !leaf.ns && !before.ns)
		return;
	builder->before[tree->nr_leaves] = before;
	builder->leaves[tree->nr_leaves++] = leaf;
}

static int make_leaves(struct builder *builder)
{
	bool has_rank = false, has_other = builder->against == REPORT_DIFF_MEDIAN;

	for (uint32_t i = 0; i < builder->nr_parts; i++) {
		has_rank |= builder->parts[i].rank == builder->rank;
		has_other |= builder->parts[i].rank == builder->against;
	}
	if (!has_rank || !has_other || !builder->nr_others)
		return -ENOENT;
	for (uint32_t i = 0, next; i < builder->nr_parts; i = next) {
		for (next = i + 1; next < builder->nr_parts &&
				   compare_places(&builder->parts[i], &builder->parts[next]) == 0;
		     next++)
			;
		add_leaf(builder, &builder->parts[i], next - i);
	}
	return 0;
}

/* ---- the whole */

static int build(struct builder *builder)
{
	const struct report_tree *tree = builder->tree;
	struct report_diff *diff = builder->diff;

	diff->tree = *tree;
	diff->tree.nr_leaves = 0;
	builder->strings = calloc(2ul * tree->nr_strings + 1, sizeof(char *));
	builder->made = calloc(tree->nr_strings + 1ul, sizeof(char *));
	builder->names = calloc(tree->nr_strings + 1ul, sizeof(*builder->names));
	builder->parts = calloc(tree->nr_leaves + 1ul, sizeof(*builder->parts));
	builder->others = calloc(tree->nr_leaves + 1ul, sizeof(*builder->others));
	builder->leaves = calloc(tree->nr_leaves + 1ul, sizeof(*builder->leaves));
	builder->before = calloc(tree->nr_leaves + 1ul, sizeof(*builder->before));
	builder->values = calloc(tree->nr_leaves + 1ul, sizeof(*builder->values));
	builder->nodes = calloc(tree->nr_nodes + 1ul, sizeof(*builder->nodes));
	builder->node_of = calloc(tree->nr_nodes + 1ul, sizeof(*builder->node_of));
	if (!builder->strings || !builder->made || !builder->names || !builder->parts ||
	    !builder->others || !builder->leaves || !builder->before || !builder->values ||
	    !builder->nodes || !builder->node_of)
		return -ENOMEM;
	memcpy(builder->strings, tree->strings, tree->nr_strings * sizeof(char *));
	builder->nr_strings = tree->nr_strings;
	int error = join_nodes(builder);
	if (!error)
		error = collect(builder);
	if (!error)
		error = make_leaves(builder);
	diff->nr_others = builder->against == REPORT_DIFF_MEDIAN ? builder->nr_others : 1;
	snprintf(diff->label_after, sizeof(diff->label_after), "rank %" PRId32, builder->rank);
	if (diff->nr_others > 1)
		snprintf(diff->label_before, sizeof(diff->label_before),
			 "median of %" PRIu32 " ranks", builder->nr_others);
	else
		snprintf(diff->label_before, sizeof(diff->label_before), "rank %" PRId32,
			 builder->against == REPORT_DIFF_MEDIAN ? builder->others[0]
								: builder->against);
	return error;
}

int report_diff_create(const struct report_tree *tree, int32_t rank, int32_t against,
		       struct report_diff **diff)
{
	struct owner *owner = calloc(1, sizeof(*owner));
	struct builder builder = {.tree = tree, .rank = rank, .against = against};

	*diff = NULL;
	if (!owner)
		return -ENOMEM;
	builder.diff = &owner->diff;
	int error = build(&builder);
	owner->strings = builder.strings;
	owner->made = builder.made;
	owner->nr_made = builder.nr_made;
	owner->nodes = builder.nodes;
	owner->diff.before = builder.before;
	owner->diff.tree.leaves = builder.leaves;
	owner->diff.tree.strings = builder.strings;
	owner->diff.tree.nr_strings = builder.nr_strings;
	owner->diff.tree.nodes = builder.nodes;
	owner->diff.tree.nr_nodes = builder.nr_nodes;
	owner->diff.tree.frameworks = NULL; /* those of the strings that were made are not known */
	hash_index_fini(&builder.made_index);
	hash_index_fini(&builder.node_index);
	free(builder.node_of);
	free(builder.names);
	free(builder.parts);
	free(builder.others);
	free(builder.values);
	if (error)
		report_diff_destroy(&owner->diff);
	else
		*diff = &owner->diff;
	return error;
}

void report_diff_destroy(struct report_diff *diff)
{
	struct owner *owner = (struct owner *)diff;

	if (!owner)
		return;
	array_free_texts(owner->made, owner->nr_made);
	free(owner->strings);
	free(owner->nodes);
	free((void *)diff->before);
	free((void *)diff->tree.leaves);
	free(owner);
}
