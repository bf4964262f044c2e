#include "id_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_SLOTS 1024u
#define MULTIPLIER  0x9e3779b97f4a7c15ull

static int allocate(struct id_index *index, uint32_t slots)
{
	uint32_t *ids = calloc(slots, sizeof(*ids));
	uint32_t *hashes = calloc(slots, sizeof(*hashes));

	if (!ids || !hashes) {
		free(ids);
		free(hashes);
		return -ENOMEM;
	}
	index->ids = ids;
	index->hashes = hashes;
	index->mask = slots - 1;
	return 0;
}

int id_index_init(struct id_index *index)
{
	memset(index, 0, sizeof(*index));
	if (getrandom(&index->seed, sizeof(index->seed), GRND_NONBLOCK) < 0)
		index->seed = MULTIPLIER ^ (uintptr_t)index;
	return allocate(index, FIRST_SLOTS);
}

void id_index_fini(struct id_index *index)
{
	free(index->ids);
	free(index->hashes);
	memset(index, 0, sizeof(*index));
}

int id_index_clear(struct id_index *index)
{
	struct id_index empty;
	int r = id_index_init(&empty);

	if (r)
		return r;
	id_index_fini(index);
	*index = empty;
	return 0;
}

uint64_t id_index_bytes(const struct id_index *index)
{
	return (index->mask + 1ull) * (sizeof(*index->ids) + sizeof(*index->hashes));
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MULTIPLIER;
	return hash ^ (hash >> 29);
}

uint32_t id_index_hash_bytes(const struct id_index *index, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = index->seed ^ size;

	while (size > 0) {
		uint64_t word = 0;
		size_t step = size < sizeof(word) ? size : sizeof(word);

		memcpy(&word, bytes, step);
		hash = mix(hash, word);
		bytes += step;
		size -= step;
	}
	return (uint32_t)(mix(hash, index->seed) >> 32);
}

uint32_t id_index_hash_pair(const struct id_index *index, uint64_t first, uint64_t second)
{
	return (uint32_t)(mix(mix(mix(index->seed, first), second), index->seed) >> 32);
}

uint32_t id_index_next(const struct id_index *index, uint32_t hash, uint32_t *cursor)
{
	for (uint32_t i = *cursor & index->mask; index->ids[i] != ID_INDEX_NONE;
	     i = (i + 1) & index->mask) {
		if (index->hashes[i] == hash) {
			*cursor = i + 1;
			return index->ids[i];
		}
	}
	return ID_INDEX_NONE;
}

static void place(struct id_index *index, uint32_t hash, uint32_t id)
{
	uint32_t i = hash & index->mask;

	while (index->ids[i] != ID_INDEX_NONE)
		i = (i + 1) & index->mask;
	index->ids[i] = id;
	index->hashes[i] = hash;
}

int id_index_reserve(struct id_index *index)
{
	struct id_index old = *index;

	if ((uint64_t)index->count * 2 < index->mask)
		return 0;
	int r = allocate(index, (old.mask + 1) * 2);
	if (r)
		return r;
	for (uint32_t i = 0; i <= old.mask; i++)
		if (old.ids[i] != ID_INDEX_NONE)
			place(index, old.hashes[i], old.ids[i]);
	free(old.ids);
	free(old.hashes);
	return 0;
}

void id_index_add(struct id_index *index, uint32_t hash, uint32_t id)
{
	assert(id != ID_INDEX_NONE);
	place(index, hash, id);
	index->count++;
}
