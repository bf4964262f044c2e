#include "hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64u

void hash_index_fini(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}

uint32_t hash_index_find(const struct hash_index *index, uint32_t hash, hash_index_equal *equal,
			 const void *context, const void *key)
{
	if (!index->slots)
		return 0;
	for (uint32_t i = hash & index->mask; index->slots[i]; i = (i + 1) & index->mask) {
		uint32_t id = (uint32_t)index->slots[i];

		if (index->slots[i] >> 32 == hash && equal(context, id, key))
			return id;
	}
	return 0;
}

static void place(struct hash_index *index, uint64_t slot)
{
	uint32_t i = (uint32_t)(slot >> 32) & index->mask;

	while (index->slots[i])
		i = (i + 1) & index->mask;
	index->slots[i] = slot;
	index->count++;
}

static int grow(struct hash_index *index)
{
	struct hash_index bigger = {.mask = index->slots ? 2 * index->mask + 1 : SLOTS_MIN - 1};

	bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; index->slots && i <= index->mask; i++)
		if (index->slots[i])
			place(&bigger, index->slots[i]);
	free(index->slots);
	*index = bigger;
	return 0;
}

int hash_index_insert(struct hash_index *index, uint32_t hash, uint32_t id)
{
	if (!index->slots || index->count >= (index->mask + 1) / 2) {
		int error = grow(index);
		if (error)
			return error;
	}
	place(index, (uint64_t)hash << 32 | id);
	return 0;
}

uint32_t hash_index_hash(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = size, word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash ^ hash >> 32);
}
