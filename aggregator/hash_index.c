#include "hash_index.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

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

static uint64_t secret[2];

/* Without random numbers, in the first moment of a system, the clock has to do. */
static void make_secret(void)
{
	struct timespec now;

	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		secret[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
		secret[1] = (uintptr_t)&now ^ secret[0] << 7;
	}
	secret[0] |= 1; /* a factor */
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * secret[0];

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Jobs choose what is hashed here. Nobody can choose much that has one hash without the secret of this process. */
uint32_t hash_index_hash(const void *data, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint8_t *bytes = data;
	uint64_t word = 0;

	pthread_once(&once, make_secret);
	uint64_t hash = secret[1] ^ size;
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	hash = mix(hash, word);
	return (uint32_t)(hash ^ hash >> 32);
}
