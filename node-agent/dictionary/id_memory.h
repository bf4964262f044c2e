/* Remembers the ids of things by keys of 128 bits; the things themselves are not kept. Keys are compared in full, so
 * that only equal keys share an id. A secret goes into keys of texts (id_memory_key()), so that no user can find two
 * texts with one key. Single-threaded. */
#ifndef ID_MEMORY_H
#define ID_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define ID_MEMORY_NONE 0u /* never the id of a thing */

struct id_key {
	uint64_t words[2];
};

/* Embedded; zeroed memory is an empty table. */
struct id_memory {
	struct id_key *keys; /* owns; one a slot */
	uint32_t *ids;       /* owns; ID_MEMORY_NONE: an empty slot */
	/* A power of two; at least a quarter of the slots is empty. 0: no memory is taken. */
	uint32_t nr_slots;
	uint32_t count;
	uint64_t nr_found; /* successful look-ups since the last clear */
};

/* Returns the key of some bytes: their SipHash with a secret of this process. */
struct id_key id_memory_key(const void *data, size_t size);

/* Returns the id under a key; ID_MEMORY_NONE: the key is not there. */
uint32_t id_memory_find(struct id_memory *memory, struct id_key key);

/* Enters an id under a key that is not there. Returns 0 or -ENOMEM. */
int id_memory_add(struct id_memory *memory, struct id_key key, uint32_t id);

uint64_t id_memory_bytes(const struct id_memory *memory);

/* Gives all memory back. */
void id_memory_clear(struct id_memory *memory);

#endif
