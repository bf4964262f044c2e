#include "collective_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective_log.h"

#include "base/array.h"
#include "proto/collective.h"

void collective_splits_fini(struct collective_splits *splits)
{
	for (uint32_t i = 0; i < splits->count; i++)
		free(splits->splits[i].waits);
	free(splits->splits);
	hash_index_fini(&splits->index);
	*splits = (struct collective_splits){0};
}

static bool key_equals(const void *context, uint32_t id, const void *key)
{
	const struct collective_splits *splits = context;

	return memcmp(&splits->splits[id - 1].key, key, sizeof(struct collective_split_key)) == 0;
}

struct collective_split *collective_splits_find(const struct collective_splits *splits,
						const struct collective_split_key *key)
{
	uint32_t id = hash_index_find(&splits->index, hash_index_hash(key, sizeof(*key)),
				      key_equals, splits, key);

	return id ? &splits->splits[id - 1] : NULL;
}

struct collective_split *collective_splits_get(struct collective_splits *splits,
					       const struct collective_split_key *key)
{
	struct collective_split *found = collective_splits_find(splits, key);

	if (found)
		return found;
	if (array_reserve(&splits->splits, &splits->room, splits->count + 1ull,
			  sizeof(*splits->splits)) ||
	    hash_index_insert(&splits->index, hash_index_hash(key, sizeof(*key)),
			      splits->count + 1))
		return NULL;
	splits->splits[splits->count] = (struct collective_split){.key = *key};
	return &splits->splits[splits->count++];
}

struct collective_split_key collective_split_key_of(uint32_t process,
						    const struct collective_gpu *gpu)
{
	return (struct collective_split_key){
		.process = process,
		.device_id = gpu->device_id,
		.context_id = gpu->context_id,
		.stream_id = gpu->stream_id,
		.tid = gpu->tid,
		.node = gpu->node,
		.name = gpu->name,
	};
}

int collective_split_keep(struct collective_split *split, const struct collective_split_wait *wait)
{
	struct collective_split_wait *waits =
		realloc(split->waits, (split->nr_waits + 1ul) * sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	split->waits = waits;
	waits[split->nr_waits++] = *wait;
	return 0;
}

/* The order of equal waits must not depend on the order in which they came. */
static bool is_less(const struct collective_split_wait *a, const struct collective_split_wait *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	return a->process != b->process ? a->process > b->process : a->device_id > b->device_id;
}

/* Frees the place of the rank that was waited for least. */
static void give_up_least(struct collective_split *split)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < split->nr_waits; i++)
		if (is_less(&split->waits[i], &split->waits[least]))
			least = i;
	split->several += split->waits[least].count;
	split->several_ns += split->waits[least].ns;
	split->nr_waits--;
	memmove(&split->waits[least], &split->waits[least + 1],
		(split->nr_waits - least) * sizeof(*split->waits));
}

int collective_split_wait(struct collective_split *split, const struct collective_split_wait *wait)
{
	for (uint32_t i = 0; i < split->nr_waits; i++)
		if (split->waits[i].process == wait->process &&
		    split->waits[i].device_id == wait->device_id) {
			split->waits[i].count += wait->count;
			split->waits[i].ns += wait->ns;
			return 0;
		}
	if (split->nr_waits >= COLLECTIVE_SPLIT_RANKS)
		give_up_least(split);
	return collective_split_keep(split, wait);
}

int collective_splits_add_one(struct collective_splits *splits,
			      const struct collective_split_end *end,
			      const struct collective_split_end *last, uint64_t wait_ns)
{
	struct collective_split *split;

	if (end->left_out)
		return 0;
	split = collective_splits_get(splits, &end->key);
	if (!split)
		return -ENOMEM;
	split->changed = true;
	split->kernels++;
	split->moves_ns += end->ns - wait_ns;
	split->bus_bytes += end->bus_bytes;
	if (!wait_ns)
		return 0;
	if (last)
		return collective_split_wait(
			split, &(struct collective_split_wait){last->key.process,
							       last->key.device_id, 1, wait_ns});
	split->several++;
	split->several_ns += wait_ns;
	return 0;
}

int collective_splits_add(struct collective_splits *splits, const struct collective_split_end *ends,
			  uint32_t count)
{
	const struct collective_split_end *last = &ends[0];
	bool alone = true;
	int error = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (ends[i].ns <= last->ns)
			alone = ends[i].ns < last->ns;
		if (ends[i].ns < last->ns)
			last = &ends[i];
	}
	for (uint32_t i = 0; i < count && !error; i++)
		error = collective_splits_add_one(splits, &ends[i], alone ? last : NULL,
						  ends[i].ns - last->ns);
	return error;
}

uint64_t collective_split_bus_bytes(uint32_t function, uint64_t bytes, uint32_t nr_ranks)
{
	switch (function) {
	case COLLECTIVE_ALL_REDUCE:
		return bytes / nr_ranks * (2 * (nr_ranks - 1ull)) +
		       bytes % nr_ranks * (2 * (nr_ranks - 1ull)) / nr_ranks;
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALL_TO_ALL:
		return bytes * (nr_ranks - 1ull);
	case COLLECTIVE_SEND:
	case COLLECTIVE_RECV:
		return bytes;
	default:
		return 0;
	}
}
