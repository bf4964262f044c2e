/* An index from hashes to ids: the lookup half of a dictionary whose entries lie elsewhere, in
 * order of their ids. The caller compares; hashes are seeded at random, because what is hashed
 * comes from applications. Single-threaded. */
#ifndef ID_INDEX_H
#define ID_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define ID_INDEX_NONE 0u /* never the id of an entry */

struct id_index {
	uint32_t *ids;    /* owns; ID_INDEX_NONE: an empty slot */
	uint32_t *hashes; /* owns */
	uint32_t mask;    /* slots - 1; at least twice as many slots as entries: every probe ends */
	uint32_t count;
	uint64_t seed;
};

/* 0 or -ENOMEM. */
int id_index_init(struct id_index *index);
void id_index_fini(struct id_index *index); /* accepts zeroed memory */

uint32_t id_index_hash_bytes(const struct id_index *index, const void *data, size_t size);
uint32_t id_index_hash_pair(const struct id_index *index, uint64_t first, uint64_t second);

/* Leaves nothing in it, and no more memory than a new one has. 0 or -ENOMEM; on error it is as it was. */
int id_index_clear(struct id_index *index);

/* Bytes that it takes. */
uint64_t id_index_bytes(const struct id_index *index);

/* Candidates with this hash, one after the other: start with *cursor = hash; ID_INDEX_NONE ends the
 * search. */
uint32_t id_index_next(const struct id_index *index, uint32_t hash, uint32_t *cursor);

/* Room for one more entry, so that the next id_index_add() can't fail. 0 or -ENOMEM. */
int id_index_reserve(struct id_index *index);
void id_index_add(struct id_index *index, uint32_t hash, uint32_t id);

#endif
