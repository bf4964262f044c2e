/* Keys as a hostile job chooses them: against a hash that is a product with a known factor. And how far searches go. */
#ifndef HASH_KEYS_H
#define HASH_KEYS_H

#include <stdint.h>

#include "base/hash_index.h"

#define HASH_KEYS_FACTOR 0x9e3779b97f4a7c15u

/* Another one for each number; bits 32 to 63 of its product with the factor are 0. */
static inline uint64_t hash_keys_word(uint32_t number)
{
	uint64_t inverse = HASH_KEYS_FACTOR; /* of three bits; each step doubles them */

	for (int step = 0; step < 5; step++)
		inverse *= 2 - HASH_KEYS_FACTOR * inverse;
	return inverse * number;
}

/* The next key above `key` whose product has zeros in the `nr_bits` bits from 32 on. */
static inline uint64_t hash_keys_next(uint64_t key, unsigned int nr_bits)
{
	do
		key++;
	while ((key * HASH_KEYS_FACTOR >> 32 & ((1ull << nr_bits) - 1)) != 0);
	return key;
}

/* The longest row of slots in use: who looks for a key may pass all of it. */
static inline uint32_t hash_keys_longest_row(const struct hash_index *index)
{
	uint32_t row = 0, longest = 0;

	for (uint64_t i = 0; i < 2 * ((uint64_t)index->mask + 1); i++) {
		row = index->slots[i & index->mask] ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

#endif
