/* Which id a thing has, by a key of 128 bits: what the thing was is not kept. Keys are compared in full, so that only
 * equal keys get one id; where they are made of text (id_memory_key()), nobody can find two texts with one key without
 * our secret. Single-threaded. */
#ifndef ID_MEMORY_H
#define ID_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define ID_MEMORY_NONE 0u /* never the id of a thing */

struct id_key {
	uint64_t words[2];
};

/* Embedded; zeroed memory is an empty one. */
struct id_memory {
	struct id_key *keys; /* owns; one a slot */
	uint32_t *ids;       /* owns; ID_MEMORY_NONE: an empty slot */
	/* a power of two, of which a quarter is empty at least; 0: it takes no memory */
	uint32_t nr_slots;
	uint32_t count;
	uint64_t nr_found; /* how often something was found, since the last clear */
};

/* The key of some bytes: SipHash with a secret of this process. */
struct id_key id_memory_key(const void *data, size_t size);

/* The id under a key; ID_MEMORY_NONE: there is none. */
uint32_t id_memory_find(struct id_memory *memory, struct id_key key);

/* Enters an id under a key that is not there. 0 or -ENOMEM. */
int id_memory_add(struct id_memory *memory, struct id_key key, uint32_t id);

uint64_t id_memory_bytes(const struct id_memory *memory);

/* Gives all memory back. */
void id_memory_clear(struct id_memory *memory);

#endif
