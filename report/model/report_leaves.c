#include "report_leaves.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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

static int add(struct report_leaves *leaves, const struct report_leaf *leaf)
{
	uint32_t hash = hash_index_hash(leaf, offsetof(struct report_leaf, count));
	uint32_t id = hash_index_find(&leaves->index, hash, leaf_equals, leaves, leaf);

	if (id) {
		struct report_leaf *found = &leaves->leaves[id - 1];

		found->count += leaf->count;
		found->ns += leaf->ns;
		found->bytes += leaf->bytes;
		return 0;
	}
	if (array_reserve(&leaves->leaves, &leaves->room, leaves->nr_leaves + 1ull,
			  sizeof(*leaves->leaves)) ||
	    hash_index_insert(&leaves->index, hash, leaves->nr_leaves + 1))
		return -ENOMEM;
	leaves->leaves[leaves->nr_leaves++] = *leaf;
	return 0;
}

/* Adds all leaves again, each at an earlier place or its own. */
static int give_up_next(struct report_leaves *leaves)
{
	const uint32_t dimensions = steps[leaves->next++] & ~leaves->kept;
	const uint32_t nr_leaves = leaves->nr_leaves;
	int error = 0;

	if (!dimensions)
		return 0;
	leaves->given_up |= dimensions;
	leaves->nr_leaves = 0;
	hash_index_clear(&leaves->index);
	for (uint32_t i = 0; i < nr_leaves && !error; i++) {
		struct report_leaf leaf = leaves->leaves[i];

		give_up(&leaf, dimensions);
		error = add(leaves, &leaf);
	}
	return error;
}

int report_leaves_add(struct report_leaves *leaves, const struct report_leaf *leaf)
{
	struct report_leaf wanted = *leaf;
	int error = 0;

	/* To half, so that it is not done again at once. */
	if (leaves->most && leaves->nr_leaves >= leaves->most)
		while (leaves->nr_leaves > leaves->most / 2 && leaves->next < NR_STEPS && !error)
			error = give_up_next(leaves);
	give_up(&wanted, leaves->given_up);
	return error ? error : add(leaves, &wanted);
}

void report_leaves_fini(struct report_leaves *leaves)
{
	free(leaves->leaves);
	hash_index_fini(&leaves->index);
	*leaves = (struct report_leaves){.nr_leaves = 0};
}
