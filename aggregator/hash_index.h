/* Finds the id of a thing by its content: open addressing over (hash, id); what a thing is and when
 * two are equal is the caller's business. One index is used by one thread. */
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

/* 0: not there. */
uint32_t hash_index_find(const struct hash_index *index, uint32_t hash, hash_index_equal *equal,
			 const void *context, const void *key);

/* id: not 0, and not there yet. 0 or -ENOMEM: unchanged. */
int hash_index_insert(struct hash_index *index, uint32_t hash, uint32_t id);

/* Another one in each process: it depends on a secret. Any thread. */
uint32_t hash_index_hash(const void *data, size_t size);

#endif
