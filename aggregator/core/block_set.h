/* The set of changed blocks of the correlator's state. It only grows until it is cleared. Pure; part of the
 * correlator. */
#ifndef BLOCK_SET_H
#define BLOCK_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

/* Embedded; zeroed memory is an empty set. */
struct block_set {
	uint64_t *blocks; /* in the order in which they were added */
	uint32_t count, room;
	struct hash_index index; /* holds indexes of blocks, + 1 */
};

void block_set_fini(struct block_set *set);

/* 0 (also if it is in the set already) or -ENOMEM: unchanged. */
int block_set_add(struct block_set *set, uint64_t block);
bool block_set_has(const struct block_set *set, uint64_t block);
void block_set_clear(struct block_set *set);

#endif
