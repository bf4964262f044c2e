#include "report_leaves.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/ledger.h"

#define SET(dimension) (1u << (REPORT_BY_##dimension))

/* What a reader misses least comes first. A GPU is in the name of its leaves. */
static const uint32_t steps[] = {SET(THREAD) | SET(CONTEXT), SET(STREAM), SET(RANK), SET(HOST),
				 SET(JOB)};

#define NR_STEPS (sizeof(steps) / sizeof(*steps))

static bool leaf_equals(const void *context, uint32_t id, const void *key)
{
	const struct report_leaves *leaves = context;

	return memcmp(&leaves->leaves[id - 1], key, offsetof(struct report_leaf, count)) == 0;
}

static void give_up(struct report_leaf *leaf, uint32_t dimensions)
{
	if (dimensions & SET(THREAD))
		leaf->tid = 0;
	if (dimensions & SET(CONTEXT))
		leaf->context = leaf->context_id = 0;
	if (dimensions & SET(STREAM))
		leaf->stream = leaf->stream_id = 0;
	if (dimensions & SET(RANK)) {
		leaf->rank = REPORT_RANK_NONE;
		leaf->process = 0;
	}
	if (dimensions & SET(HOST))
		leaf->host = 0;
	if (dimensions & SET(JOB))
		leaf->job = 0;
}

/* Adds a histogram to a leaf, which is new if has_some is false. */
static int add_durations(struct report_leaf *leaf, bool has_some, bool is_known,
			 const struct duration_bin *list, uint32_t nr)
{
	int error = 0;

	if (!is_known || (has_some && !leaf->has_durations)) {
		leaf->has_durations = false;
		duration_bins_fini(&leaf->durations);
		return 0;
	}
	leaf->has_durations = true;
	for (uint32_t i = 0; i < nr && !error; i++)
		error = duration_bins_add(&leaf->durations, list[i].bucket, list[i].count);
	return error;
}

static void add_resources(struct report_leaf *found, const struct report_leaf *leaf)
{
	for (uint32_t i = 0; i < RESOURCES; i++) {
		if (!(leaf->resources & 1u << i))
			continue;
		if (!(found->resources & 1u << i) || leaf->confidence[i] < found->confidence[i])
			found->confidence[i] = leaf->confidence[i];
		found->amounts[i] = ledger_add_saturating(found->amounts[i], leaf->amounts[i]);
	}
	found->resources |= leaf->resources;
}

/* Finds the place of a leaf, and adds its sums. is_new: there was no equal one. NULL: out of memory. */
static struct report_leaf *add(struct report_leaves *leaves, const struct report_leaf *leaf,
			       bool *is_new)
{
	uint32_t hash = hash_index_hash(leaf, offsetof(struct report_leaf, count));
	uint32_t id = hash_index_find(&leaves->index, hash, leaf_equals, leaves, leaf);

	*is_new = !id;
	if (id) {
		struct report_leaf *found = &leaves->leaves[id - 1];

		found->count = ledger_add_saturating(found->count, leaf->count);
		found->ns = ledger_add_saturating(found->ns, leaf->ns);
		found->bytes = ledger_add_saturating(found->bytes, leaf->bytes);
		add_resources(found, leaf);
		return found;
	}
	if (array_reserve(&leaves->leaves, &leaves->room, leaves->nr_leaves + 1ull,
			  sizeof(*leaves->leaves)) ||
	    hash_index_insert(&leaves->index, hash, leaves->nr_leaves + 1))
		return NULL;
	leaves->leaves[leaves->nr_leaves] = *leaf;
	return &leaves->leaves[leaves->nr_leaves++];
}

/* Adds a leaf again, with its histogram. */
static int add_again(struct report_leaves *leaves, struct report_leaf *leaf)
{
	struct duration_bin list[DURATION_BUCKETS];
	bool is_new;
	struct report_leaf *found = add(leaves, leaf, &is_new);

	if (found && is_new)
		return 0;
	const uint32_t nr = duration_bins_list(&leaf->durations, list);
	duration_bins_fini(&leaf->durations);
	return found ? add_durations(found, true, leaf->has_durations, list, nr) : -ENOMEM;
}

/* Adds all leaves again, each at an earlier place or its own. */
static int give_up_next(struct report_leaves *leaves)
{
	const uint32_t dimensions = steps[leaves->next++] & ~leaves->kept;
	const uint32_t nr_leaves = leaves->nr_leaves;
	uint32_t i;
	int error = 0;

	if (!dimensions)
		return 0;
	leaves->given_up |= dimensions;
	leaves->nr_leaves = 0;
	hash_index_clear(&leaves->index);
	for (i = 0; i < nr_leaves && !error; i++) {
		struct report_leaf leaf = leaves->leaves[i];

		give_up(&leaf, dimensions);
		error = add_again(leaves, &leaf);
	}
	for (; i < nr_leaves; i++)
		duration_bins_fini(&leaves->leaves[i].durations);
	return error;
}

int report_leaves_add(struct report_leaves *leaves, const struct report_leaf *leaf,
		      const struct fold_row *row)
{
	struct duration_bin list[DURATION_BUCKETS];
	struct report_leaf wanted = *leaf;
	bool is_new;
	int error = 0;

	/* To half, so that it is not done again at once. */
	if (leaves->most && leaves->nr_leaves >= leaves->most)
		while (leaves->nr_leaves > leaves->most / 2 && leaves->next < NR_STEPS && !error)
			error = give_up_next(leaves);
	if (error)
		return error;
	give_up(&wanted, leaves->given_up);
	struct report_leaf *found = add(leaves, &wanted, &is_new);
	if (!found)
		return -ENOMEM;
	return add_durations(found, !is_new, row->near_first < FOLD_NEAR_NONE, list,
			     fold_row_list(row, list));
}

void report_leaves_free(struct report_leaf *leaves, uint32_t nr_leaves)
{
	for (uint32_t i = 0; leaves && i < nr_leaves; i++)
		duration_bins_fini(&leaves[i].durations);
	free(leaves);
}

void report_leaves_fini(struct report_leaves *leaves)
{
	report_leaves_free(leaves->leaves, leaves->nr_leaves);
	hash_index_fini(&leaves->index);
	*leaves = (struct report_leaves){.nr_leaves = 0};
}
