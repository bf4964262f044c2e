#include "hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"

#define SLOTS_MIN 16u

void hash_index_fini(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}

/* Returns the slot with `held`, or the empty slot where it belongs. */
static uint32_t find_slot(const struct hash_index *index, uint32_t hash, uint64_t held)
{
	uint32_t i = hash & index->mask;

	while (index->slots[i] && index->slots[i] != held)
		i = (i + 1) & index->mask;
	return i;
}

static void place(struct hash_index *index, uint64_t slot)
{
	index->slots[find_slot(index, (uint32_t)(slot >> 32), 0)] = slot;
	index->count++;
}

int hash_index_reserve(struct hash_index *index, uint32_t count)
{
	uint64_t nr_slots = index->slots ? (uint64_t)index->mask + 1 : SLOTS_MIN;

	while (nr_slots / 2 < count)
		nr_slots *= 2;
	if (index->slots && nr_slots == (uint64_t)index->mask + 1)
		return 0;
	struct hash_index bigger = {.mask = (uint32_t)(nr_slots - 1)};
	if (nr_slots - 1 > UINT32_MAX)
		return -ENOMEM;
	bigger.slots = calloc(nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0, left = index->count; left; i++) {
		if (!index->slots[i])
			continue;
		place(&bigger, index->slots[i]);
		left--;
	}
	free(index->slots);
	*index = bigger;
	return 0;
}

int hash_index_insert(struct hash_index *index, uint32_t hash, uint32_t id)
{
	int error = hash_index_reserve(index, index->count + 1);

	if (!error)
		place(index, (uint64_t)hash << 32 | id);
	return error;
}

/* Moves later entries up to the hole, except those whose search begins behind it. */
static void empty_slot(struct hash_index *index, uint32_t hole)
{
	const uint32_t mask = index->mask;

	for (uint32_t i = (hole + 1) & mask; index->slots[i]; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)(index->slots[i] >> 32) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		index->slots[hole] = index->slots[i];
		hole = i;
	}
	index->slots[hole] = 0;
	index->count--;
}

void hash_index_replace(struct hash_index *index, uint32_t hash, uint32_t id, uint32_t other)
{
	uint32_t slot = index->slots ? find_slot(index, hash, (uint64_t)hash << 32 | id) : 0;

	if (!index->slots || !index->slots[slot])
		return;
	if (other)
		index->slots[slot] = (uint64_t)hash << 32 | other;
	else
		empty_slot(index, slot);
}

void hash_index_clear(struct hash_index *index)
{
	if (index->count)
		memset(index->slots, 0, ((size_t)index->mask + 1) * sizeof(*index->slots));
	index->count = 0;
}

uint64_t hash_index_secret[2];

/* In the first moments of a system there are no random numbers, so the clock replaces them. */
__attribute__((constructor)) static void make_secret(void)
{
	uint64_t *secret = hash_index_secret;

	if (getrandom(secret, sizeof(hash_index_secret), GRND_NONBLOCK) !=
	    sizeof(hash_index_secret)) {
		secret[0] = clock_now_ns() << 32 ^ clock_now_ns();
		secret[1] = (uintptr_t)&secret ^ secret[0] << 7;
	}
	secret[0] |= 1; /* an even factor would lose a bit */
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * hash_index_secret[0];

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_index_digest(uint64_t digest, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t word = 0;

	digest ^= hash_index_secret[1] ^ size;
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		digest = mix(digest, word);
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	return mix(digest, word);
}

uint32_t hash_index_hash(const void *data, size_t size)
{
	uint64_t digest = hash_index_digest(0, data, size);

	return (uint32_t)(digest ^ digest >> 32);
}
