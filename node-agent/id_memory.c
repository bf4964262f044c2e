#include "id_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_SLOTS 64u

/* Made when it is first asked for. Without random numbers, in the first moment of a system, the clock and an address
 * have to do: they keep chance away, though not somebody who knows both. */
static const uint64_t *secret(void)
{
	static uint64_t words[2];

	if (words[0] == 0 && getrandom(words, sizeof(words), GRND_NONBLOCK) != sizeof(words)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		words[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ 1;
		words[1] = (uintptr_t)&now;
	}
	return words;
}

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
	const uint64_t *k = secret();
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

/* The slot with this key, or the empty one where it belongs. An application may choose keys, so both words of a key
 * meet the secret in one product of 128 bits: which keys meet in a slot depends on it. */
static uint32_t find_slot(const struct id_memory *memory, struct id_key key)
{
	const uint64_t *k = secret();
	unsigned __int128 product =
		(unsigned __int128)(key.words[0] ^ k[0]) * (key.words[1] ^ k[1]);
	uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
	uint32_t mask = memory->nr_slots - 1, i = (uint32_t)(hash ^ hash >> 32) & mask;

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
