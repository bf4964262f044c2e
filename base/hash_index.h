/* Finds the id of a thing by its content: open addressing over (hash, id); what a thing is and when two are equal is
 * the caller's business. Jobs choose most of the keys. So hashes depend on a secret of this process, and nobody can
 * choose much that meets in one slot without it. One index is used by one thread. */
#ifndef HASH_INDEX_H
#define HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded; zeroed memory is an empty index. */
struct hash_index {
	uint64_t *slots; /* hash << 32 | id; 0: empty */
	uint32_t mask, count;
};

/* Whether the thing with this id equals *key. */
typedef bool hash_index_equal(const void *context, uint32_t id, const void *key);

void hash_index_fini(struct hash_index *index);

/* 0: not there. Inline, for the totals of all GPU records are found by it. */
static inline uint32_t hash_index_find(const struct hash_index *index, uint32_t hash,
				       hash_index_equal *equal, const void *context,
				       const void *key)
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

/* id: not 0, and not there yet. 0 or -ENOMEM: unchanged. */
int hash_index_insert(struct hash_index *index, uint32_t hash, uint32_t id);

/* Makes room for so many ids in all: to insert them does not fail. 0 or -ENOMEM: unchanged. */
int hash_index_reserve(struct hash_index *index, uint32_t count);

/* Another id takes the place of one that is there with this hash; 0: none does. One that is not there: no change. */
void hash_index_replace(struct hash_index *index, uint32_t hash, uint32_t id, uint32_t other);

/* Forgets all ids and keeps the memory for the next ones. */
void hash_index_clear(struct hash_index *index);

/* Any thread, here and below. Each process has hashes of its own. */
uint32_t hash_index_hash(const void *data, size_t size);

/* Of data behind that of another digest; the first one's is 0. Among 2^16 things two are alike with a probability of
 * 2^-33. */
uint64_t hash_index_digest(uint64_t digest, const void *data, size_t size);

/* Random; made before main(), then never written. The first word is odd. */
extern uint64_t hash_index_secret[2];

/* Of one word: not the hash of its bytes. */
static inline uint32_t hash_index_hash_word(uint64_t word)
{
	unsigned __int128 product =
		(unsigned __int128)(word ^ hash_index_secret[1]) * hash_index_secret[0];

	return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

#endif
