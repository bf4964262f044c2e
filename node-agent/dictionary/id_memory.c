#include "id_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"

#define FIRST_SLOTS 64u

static uint64_t rotate(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static void sip_rounds(uint64_t v[static 4], unsigned int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* SipHash-2-4 with 128 bits, by the paper of Aumasson and Bernstein and their reference code. */
struct id_key id_memory_key(const void *data, size_t size)
{
	const uint64_t *k = hash_index_secret;
	uint64_t v[4] = {k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du ^ 0xee,
			 k[0] ^ 0x6c7967656e657261u, k[1] ^ 0x7465646279746573u};
	const uint8_t *bytes = data;
	uint64_t last = (uint64_t)size << 56, word;
	struct id_key key;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
	}
	word = 0;
	memcpy(&word, bytes, size);
	last |= word;
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xee;
	sip_rounds(v, 4);
	key.words[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	sip_rounds(v, 4);
	key.words[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
	return key;
}

/* Finds the slot with this key, or the empty slot where the key belongs. Keys stand in the slots themselves, which
 * takes a third less memory than a separate hash_index. */
static uint32_t find_slot(const struct id_memory *memory, struct id_key key)
{
	uint32_t mask = memory->nr_slots - 1, i = hash_index_hash(&key, sizeof(key)) & mask;

	while (memory->ids[i] != ID_MEMORY_NONE && (memory->keys[i].words[0] != key.words[0] ||
						    memory->keys[i].words[1] != key.words[1]))
		i = (i + 1) & mask;
	return i;
}

uint32_t id_memory_find(struct id_memory *memory, struct id_key key)
{
	uint32_t id = memory->nr_slots ? memory->ids[find_slot(memory, key)] : ID_MEMORY_NONE;

	memory->nr_found += id != ID_MEMORY_NONE;
	return id;
}

static int grow(struct id_memory *memory)
{
	struct id_memory more = {.nr_slots = memory->nr_slots ? memory->nr_slots * 2 : FIRST_SLOTS,
				 .count = memory->count,
				 .nr_found = memory->nr_found};

	more.keys = malloc(more.nr_slots * sizeof(*more.keys));
	more.ids = calloc(more.nr_slots, sizeof(*more.ids));
	if (!more.keys || !more.ids) {
		id_memory_clear(&more);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < memory->nr_slots; i++) {
		if (memory->ids[i] == ID_MEMORY_NONE)
			continue;
		uint32_t slot = find_slot(&more, memory->keys[i]);

		more.keys[slot] = memory->keys[i];
		more.ids[slot] = memory->ids[i];
	}
	free(memory->keys);
	free(memory->ids);
	*memory = more;
	return 0;
}

int id_memory_add(struct id_memory *memory, struct id_key key, uint32_t id)
{
	assert(id != ID_MEMORY_NONE);
	if (memory->count >= memory->nr_slots / 4 * 3 && grow(memory))
		return -ENOMEM;
	uint32_t slot = find_slot(memory, key);
	memory->keys[slot] = key;
	memory->ids[slot] = id;
	memory->count++;
	return 0;
}

uint64_t id_memory_bytes(const struct id_memory *memory)
{
	return memory->nr_slots * (uint64_t)(sizeof(*memory->keys) + sizeof(*memory->ids));
}

void id_memory_clear(struct id_memory *memory)
{
	free(memory->keys);
	free(memory->ids);
	*memory = (struct id_memory){0};
}
