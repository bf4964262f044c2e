#include "frame_ranks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report_groups.h"

#include "base/array.h"
#include "base/hash_index.h"

#define NO_KIND REPORT_KINDS /* the kind of nodes that are no leaves */

/* A frame, merged over ranks. It is compared as bytes. */
struct place {
	uint32_t values[REPORT_DIMENSIONS]; /* of the dimensions that stay apart */
	uint32_t plane, node;
	uint32_t kind, activity; /* of a leaf */
};

struct frame {
	struct place place;
	int32_t last; /* the last counted rank; leaves are sorted by rank */
	uint32_t count;
};

struct frame_ranks {
	const struct report_tree *tree;
	struct report_by by;
	uint32_t nr_ranks;
	struct frame *frames; /* owns */
	uint32_t nr_frames, max_frames;
	struct hash_index index; /* holds indexes of frames, + 1 */
	uint32_t *activities;    /* owns; by string: a number for the activity; 0: none */
	uint32_t *named;         /* owns; by such a number less one: a string with it */
	uint32_t nr_named;
	struct hash_index activity_index;
};

/* ---- activities */

static const char *activity_of(const struct frame_ranks *ranks, uint32_t name)
{
	return report_groups_activity(ranks->tree->strings[name]);
}

static bool activity_equals(const void *context, uint32_t id, const void *key)
{
	const struct frame_ranks *ranks = context;

	return strcmp(activity_of(ranks, ranks->named[id - 1]), key) == 0;
}

static int number_activity(struct frame_ranks *ranks, uint32_t name)
{
	const char *activity = activity_of(ranks, name);

	if (ranks->activities[name])
		return 0;
	uint32_t hash = hash_index_hash(activity, strlen(activity));
	uint32_t id =
		hash_index_find(&ranks->activity_index, hash, activity_equals, ranks, activity);
	if (!id) {
		id = ranks->nr_named + 1;
		if (hash_index_insert(&ranks->activity_index, hash, id))
			return -ENOMEM;
		ranks->named[ranks->nr_named++] = name;
	}
	ranks->activities[name] = id;
	return 0;
}

/* ---- frames */

static struct place place_of(const struct frame_ranks *ranks, const struct report_leaf *leaf)
{
	struct place place;

	memset(&place, 0, sizeof(place));
	for (uint32_t i = 0; i < ranks->by.nr_dimensions; i++)
		place.values[i] = report_dimension_value(leaf, ranks->by.dimensions[i]);
	place.plane = report_plane_of(leaf->kind);
	place.node = leaf->node;
	place.kind = leaf->kind;
	place.activity = ranks->activities[leaf->name];
	return place;
}

static struct place place_of_node(struct place place, uint32_t node)
{
	place.node = node;
	place.kind = NO_KIND;
	place.activity = 0;
	return place;
}

static bool frame_equals(const void *context, uint32_t id, const void *key)
{
	const struct frame_ranks *ranks = context;

	return memcmp(&ranks->frames[id - 1].place, key, sizeof(struct place)) == 0;
}

static const struct frame *find(const struct frame_ranks *ranks, const struct place *place)
{
	uint32_t id = hash_index_find(&ranks->index, hash_index_hash(place, sizeof(*place)),
				      frame_equals, ranks, place);

	return id ? &ranks->frames[id - 1] : NULL;
}

/* NULL: out of memory. */
static struct frame *get(struct frame_ranks *ranks, const struct place *place)
{
	uint32_t hash = hash_index_hash(place, sizeof(*place));
	uint32_t id = hash_index_find(&ranks->index, hash, frame_equals, ranks, place);

	if (id)
		return &ranks->frames[id - 1];
	if (array_reserve(&ranks->frames, &ranks->max_frames, ranks->nr_frames + 1,
			  sizeof(*ranks->frames)))
		return NULL;
	if (hash_index_insert(&ranks->index, hash, ranks->nr_frames + 1))
		return NULL;
	ranks->frames[ranks->nr_frames] = (struct frame){.place = *place, .last = REPORT_RANK_NONE};
	return &ranks->frames[ranks->nr_frames++];
}

/* *again: the frame was counted for the rank before, and so were all frames outside it. */
static int count_rank(struct frame_ranks *ranks, const struct place *place, int32_t rank,
		      bool *again)
{
	struct frame *frame = get(ranks, place);

	*again = false;
	if (!frame)
		return -ENOMEM;
	*again = frame->last == rank;
	frame->count += !*again;
	frame->last = rank;
	return 0;
}

static int count_leaf(struct frame_ranks *ranks, const struct report_leaf *leaf)
{
	const struct place place = place_of(ranks, leaf);
	bool again;
	int error = count_rank(ranks, &place, leaf->rank, &again);

	for (uint32_t node = leaf->node; node != REPORT_NODE_ROOT && !error && !again;
	     node = ranks->tree->nodes[node].parent) {
		const struct place outside = place_of_node(place, node);

		error = count_rank(ranks, &outside, leaf->rank, &again);
	}
	return error;
}

static int by_rank(const void *a, const void *b)
{
	const struct report_leaf *const *x = a, *const *y = b;

	return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

/* All leaves have a known rank. */
static int count_all(struct frame_ranks *ranks, const struct report_leaf **leaves, uint32_t count)
{
	int error = 0;

	qsort(leaves, count, sizeof(*leaves), by_rank);
	for (uint32_t i = 0; i < count; i++)
		ranks->nr_ranks += i == 0 || leaves[i]->rank != leaves[i - 1]->rank;
	for (uint32_t i = 0; i < count && ranks->nr_ranks > 1 && !error; i++)
		error = count_leaf(ranks, leaves[i]);
	return error;
}

static int fill(struct frame_ranks *ranks)
{
	const struct report_tree *tree = ranks->tree;
	const struct report_leaf **leaves = calloc((size_t)tree->nr_leaves + 1, sizeof(*leaves));
	uint32_t count = 0;
	int error = -ENOMEM;

	/* calloc() of nothing may return NULL, so each array gets one element more. */
	ranks->activities = calloc((size_t)tree->nr_strings + 1, sizeof(*ranks->activities));
	ranks->named = calloc((size_t)tree->nr_leaves + 1, sizeof(*ranks->named));
	if (leaves && ranks->activities && ranks->named) {
		error = 0;
		for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
			error = number_activity(ranks, tree->leaves[i].name);
			if (tree->leaves[i].rank != REPORT_RANK_NONE)
				leaves[count++] = &tree->leaves[i];
		}
		if (!error)
			error = count_all(ranks, leaves, count);
	}
	free(leaves);
	return error;
}

static bool keeps_ranks_apart(const struct report_by *by)
{
	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		if (by->dimensions[i] == REPORT_BY_RANK)
			return true;
	return false;
}

int frame_ranks_create(const struct report_tree *tree, const struct report_by *by,
		       struct frame_ranks **ranks)
{
	*ranks = NULL;
	if (by && keeps_ranks_apart(by))
		return 0;
	struct frame_ranks *made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->tree = tree;
	if (by)
		made->by = *by;
	int error = fill(made);
	if (error || made->nr_ranks < 2)
		frame_ranks_destroy(made);
	else
		*ranks = made;
	return error;
}

void frame_ranks_destroy(struct frame_ranks *ranks)
{
	if (!ranks)
		return;
	hash_index_fini(&ranks->index);
	hash_index_fini(&ranks->activity_index);
	free(ranks->activities);
	free(ranks->named);
	free(ranks->frames);
	free(ranks);
}

uint32_t frame_ranks_all(const struct frame_ranks *ranks)
{
	return ranks->nr_ranks;
}

uint32_t frame_ranks_of_node(const struct frame_ranks *ranks, const struct report_leaf *leaf,
			     uint32_t node)
{
	const struct place place = place_of_node(place_of(ranks, leaf), node);
	const struct frame *frame = find(ranks, &place);

	return frame ? frame->count : 0;
}

uint32_t frame_ranks_of_leaf(const struct frame_ranks *ranks, const struct report_leaf *leaf)
{
	const struct place place = place_of(ranks, leaf);
	const struct frame *frame = find(ranks, &place);

	return frame ? frame->count : 0;
}
