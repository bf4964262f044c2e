#include "leaf_sums.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "proto/ledger.h"

struct order {
	const struct report_tree *tree;
	const struct report_by *by;
};

/* The state of one run over the leaves. */
struct builder {
	const struct report_tree *tree;
	struct leaf_sums *sums;
	struct hash_index index; /* of sums, + 1 */
	struct hash_index names; /* of strings without their GPU: the first such string + 1 */
	uint32_t *canonical;     /* of each string: that string + 1; 0: not looked for */
};

const char *leaf_sums_name(const char *name, char *first)
{
	*first = '\0';
	if (strncmp(name, "[GPU", 4) != 0 || (!isdigit((unsigned char)name[4]) && name[4] != '?'))
		return name;
	const char *rest = strchr(name, '_');
	if (!rest)
		return name;
	*first = '[';
	return rest + 1;
}

void leaf_sums_labels(const struct report_tree *tree, const struct report_by *wanted,
		      struct report_by *by)
{
	static const enum report_dimension usual[] = {REPORT_BY_HOST, REPORT_BY_RANK, REPORT_BY_GPU,
						      REPORT_BY_STREAM};
	bool has_job = false;

	if (wanted && wanted->nr_dimensions) {
		*by = *wanted;
		return;
	}
	*by = (struct report_by){0};
	for (uint32_t i = 0; i < tree->nr_processes; i++)
		has_job |= tree->processes[i].job != 0;
	if (has_job)
		by->dimensions[by->nr_dimensions++] = REPORT_BY_JOB;
	for (uint32_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		by->dimensions[by->nr_dimensions++] = usual[i];
}

static uint32_t hash_name(const char *name)
{
	char first;
	const char *rest = leaf_sums_name(name, &first);

	return hash_index_hash(rest, strlen(rest));
}

static bool name_equals(const void *context, uint32_t id, const void *key)
{
	const struct report_tree *tree = context;
	char first, other;

	return strcmp(leaf_sums_name(tree->strings[id - 1], &first), leaf_sums_name(key, &other)) ==
		       0 &&
	       first == other;
}

static int find_name(struct builder *builder, uint32_t name, uint32_t *canonical)
{
	const char *text = builder->tree->strings[name];

	if (!builder->canonical[name]) {
		uint32_t hash = hash_name(text);
		uint32_t id =
			hash_index_find(&builder->names, hash, name_equals, builder->tree, text);

		if (!id) {
			id = name + 1;
			if (hash_index_insert(&builder->names, hash, id))
				return -ENOMEM;
		}
		builder->canonical[name] = id;
	}
	*canonical = builder->canonical[name] - 1;
	return 0;
}

static bool sum_equals(const void *context, uint32_t id, const void *key)
{
	const struct leaf_sums *sums = context;

	return memcmp(&sums->sums[id - 1], key, offsetof(struct leaf_sum, count)) == 0;
}

static int add_leaf(struct builder *builder, const struct report_leaf *leaf,
		    const struct report_by *by)
{
	struct leaf_sums *sums = builder->sums;
	struct leaf_sum sum;

	memset(&sum, 0, sizeof(sum));
	sum.plane = report_plane_of(leaf->kind);
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		sum.values[i] = report_dimension_value(leaf, by->dimensions[i]);
	sum.node = leaf->node;
	if (find_name(builder, leaf->name, &sum.name))
		return -ENOMEM;
	uint32_t hash = hash_index_hash(&sum, offsetof(struct leaf_sum, count));
	uint32_t id = hash_index_find(&builder->index, hash, sum_equals, sums, &sum);
	if (!id) {
		id = sums->nr_sums + 1;
		if (hash_index_insert(&builder->index, hash, id))
			return -ENOMEM;
		sums->sums[sums->nr_sums++] = sum;
	}
	struct leaf_sum *found = &sums->sums[id - 1];
	found->count = ledger_add_saturating(found->count, leaf->count);
	found->ns = ledger_add_saturating(found->ns, leaf->ns);
	found->bytes = ledger_add_saturating(found->bytes, leaf->bytes);
	return 0;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_values(const struct order *order, const struct leaf_sum *a,
			  const struct leaf_sum *b)
{
	for (uint32_t i = 0; i < order->by->nr_dimensions; i++) {
		enum report_dimension dimension = order->by->dimensions[i];
		int difference = 0;

		if (a->values[i] == b->values[i])
			continue;
		if (dimension == REPORT_BY_HOST || dimension == REPORT_BY_JOB ||
		    dimension == REPORT_BY_STEP)
			difference = strcmp(order->tree->strings[a->values[i]],
					    order->tree->strings[b->values[i]]);
		return difference ? difference : compare_numbers(a->values[i], b->values[i]);
	}
	return 0;
}

static int compare(const void *of, const void *with, void *context)
{
	const struct leaf_sum *a = of, *b = with;
	int difference = compare_numbers(a->plane, b->plane);

	if (!difference)
		difference = compare_values(context, a, b);
	if (!difference)
		difference = compare_numbers(a->node, b->node);
	return difference ? difference : compare_numbers(a->name, b->name);
}

int leaf_sums_init(struct leaf_sums *sums, const struct report_tree *tree,
		   const struct report_by *by)
{
	struct builder builder = {.tree = tree, .sums = sums};
	struct order order = {tree, by};
	int error = 0;

	sums->nr_sums = 0;
	sums->sums = malloc((tree->nr_leaves + 1ul) * sizeof(*sums->sums));
	builder.canonical = calloc(tree->nr_strings + 1ul, sizeof(*builder.canonical));
	if (!sums->sums || !builder.canonical)
		error = -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++)
		error = add_leaf(&builder, &tree->leaves[i], by);
	hash_index_fini(&builder.index);
	hash_index_fini(&builder.names);
	free(builder.canonical);
	if (error)
		leaf_sums_fini(sums);
	else
		qsort_r(sums->sums, sums->nr_sums, sizeof(*sums->sums), compare, &order);
	return error;
}

void leaf_sums_fini(struct leaf_sums *sums)
{
	free(sums->sums);
	*sums = (struct leaf_sums){0};
}

const char *leaf_sums_value(const struct report_tree *tree, enum report_dimension dimension,
			    uint32_t value, char *text)
{
	static const char *const starts[REPORT_DIMENSIONS] = {
		[REPORT_BY_RANK] = "rank",       [REPORT_BY_GPU] = "GPU",
		[REPORT_BY_CONTEXT] = "context", [REPORT_BY_STREAM] = "stream",
		[REPORT_BY_THREAD] = "thread",   [REPORT_BY_JOB] = "job ",
		[REPORT_BY_STEP] = "[step] ",
	};
	const char *frame =
		report_dimension_frame(tree, dimension, value, text, LEAF_SUMS_TEXT_SIZE);
	const char *start = starts[dimension];
	size_t size = strlen(frame);

	if (tree->leaves_given_up & 1u << dimension || strncmp(frame, "no ", 3) == 0)
		return NULL;
	/* "rank?" is a rank that is not known, and "job?" a job. */
	if (start && size && frame[size - 1] == '?' && size - 1 == strcspn(start, " ") &&
	    strncmp(frame, start, size - 1) == 0)
		return NULL;
	if (start && strncmp(frame, start, strlen(start)) == 0)
		frame += strlen(start);
	return *frame ? frame : NULL;
}
