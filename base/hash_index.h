/* Finds ids by the contents that they stand for: open addressing over (hash, id). The caller keeps the contents and
 * compares them. Jobs choose most keys, so hashes depend on a secret of this process: without it nobody can choose keys
 * that collide. One index is used by one thread. */
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

/* Returns whether the contents with this id equal *key. */
typedef bool hash_index_equal(const void *context, uint32_t id, const void *key);

void hash_index_fini(struct hash_index *index);

/* Returns the id; 0: the index has none. It is inline because it finds the total of every GPU record. */
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

/* Fetches the place where a search for this hash begins into the processor's cache. Changes nothing. */
static inline void hash_index_prefetch(const struct hash_index *index, uint32_t hash)
{
	if (index->slots)
		__builtin_prefetch(&index->slots[hash & index->mask]);
}

/* Guesses the id that a search for this hash will find, by the first place alone; 0: none is there. */
static inline uint32_t hash_index_guess(const struct hash_index *index, uint32_t hash)
{
	return index->slots ? (uint32_t)index->slots[hash & index->mask] : 0;
}

/* Adds an id, which is not 0 and not in the index yet. 0 or -ENOMEM: unchanged. */
int hash_index_insert(struct hash_index *index, uint32_t hash, uint32_t id);

/* Makes room for count ids in all, so that inserting them cannot fail. 0 or -ENOMEM: unchanged. */
int hash_index_reserve(struct hash_index *index, uint32_t count);

/* Replaces an id with this hash by another one, or removes it (other is 0). An id that is not in the index changes
 * nothing. */
void hash_index_replace(struct hash_index *index, uint32_t hash, uint32_t id, uint32_t other);

/* Forgets all ids and keeps the memory for the next ones. */
void hash_index_clear(struct hash_index *index);

/* Any thread may call the functions below. Their results differ between processes. */
uint32_t hash_index_hash(const void *data, size_t size);

/* Digests data that follows the data of another digest; 0: no data before. Among 2^16 contents two have equal digests
 * with a probability of 2^-33. */
uint64_t hash_index_digest(uint64_t digest, const void *data, size_t size);

/* Random; made before main(), then never written. The first word is odd. */
extern uint64_t hash_index_secret[2];

/* Hashes one word. The result differs from hash_index_hash() of the word's bytes. */
static inline uint32_t hash_index_hash_word(uint64_t word)
{
	unsigned __int128 product =
		(unsigned __int128)(word ^ hash_index_secret[1]) * hash_index_secret[0];

	return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

#endif
