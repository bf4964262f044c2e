#include "stack_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "code_places.h"

#include "proto/launch_path.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "proto/stack_word.h"

/* A slot is hash | id. The id is in the low bits, which the slot's own place stands for in the hash. There are more
 * slots than entries, so every probe ends. */
#define ID_BITS  19
#define NR_SLOTS (1u << ID_BITS)
#define ID_MASK  ((uint64_t)NR_SLOTS - 1)
static_assert(NR_SLOTS == 2 * RECORD_STACKS_MAX, "any id fits");
static_assert(RECORD_STACKS_MAX + STACK_TABLE_BODIES + STACK_TABLE_OTHERS <= NR_SLOTS / 4 * 3,
	      "a quarter of the slots stays empty");

struct stack_table {
	struct record_ring *ring;
	_Atomic uint32_t full;
	_Atomic uint32_t nr_bodies,
		nr_others; /* entries, and failed attempts past the most of them */
	_Alignas(64) _Atomic uint64_t slots[NR_SLOTS];
	_Alignas(64) _Atomic uint64_t nr_in_places;
	struct code_places places;
};

struct stack_table *stack_table_create(struct record_ring *ring)
{
	struct stack_table *table = sparse_memory_map(sizeof(*table), PROT_READ | PROT_WRITE);

	if (!table)
		return NULL;
	table->ring = ring;
	return table;
}

void stack_table_destroy(struct stack_table *table)
{
	if (table)
		munmap(table, sizeof(*table));
}

void stack_table_unloaded(struct stack_table *table, uint64_t start, uint64_t end)
{
	code_places_unload(&table->places, start, end);
}

void stack_table_loaded(struct stack_table *table, uint64_t start, uint64_t end, uint64_t identity)
{
	code_places_load(&table->places, start, end, identity);
}

bool stack_table_is_place(const struct stack_table *table, uint64_t start, uint64_t end)
{
	return code_places_hold(&table->places, start, end);
}

uint64_t stack_table_in_places(const struct stack_table *table)
{
	return atomic_load_explicit(&table->nr_in_places, memory_order_relaxed);
}

LAUNCH_PATH uint32_t stack_table_epoch(const struct stack_table *table)
{
	return code_places_epoch(&table->places);
}

static inline uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two lanes, so that the multiplications of neighbouring frames overlap. */
uint64_t stack_table_hash(const uint64_t *keys, uint32_t nr)
{
	const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd6e8feb86659fd93u, k2 = 0xa0761d6478bd642fu;
	uint64_t a = k0 ^ nr, b = k1;
	uint32_t i = 0;

	for (; i + 1 < nr; i += 2) {
		a = multiply_fold(a ^ keys[i], k2);
		b = multiply_fold(b ^ keys[i + 1], k0);
	}
	if (i < nr)
		a = multiply_fold(a ^ keys[i], k2);
	return multiply_fold(a ^ k1, b ^ k2 ^ ((uint64_t)nr << 32));
}

/* Returns the id in the first slot of this hash. RECORD_STACK_NONE: there is none, and *place is the empty slot for
 * it. */
static uint32_t find(struct stack_table *table, uint64_t hash, uint64_t *place)
{
	for (uint64_t i = hash & ID_MASK;; i = (i + 1) & ID_MASK) {
		uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);

		*place = i;
		if (slot == 0)
			return RECORD_STACK_NONE;
		if ((slot & ~ID_MASK) == (hash & ~ID_MASK))
			return (uint32_t)(slot & ID_MASK);
	}
}

/* Stores the body first. A thread that loses the race for the slot uses the winner's id; its own body stays unused. */
static __attribute__((cold)) uint32_t insert(struct stack_table *table, uint64_t hash,
					     uint64_t place, const uint64_t *words, uint32_t nr)
{
	uint64_t empty = 0;
	uint32_t id, winner = RECORD_STACK_NONE;

	if (atomic_load_explicit(&table->full, memory_order_relaxed))
		return RECORD_STACK_NONE;
	id = record_ring_add_stack(table->ring, words, nr);
	if (id == RECORD_STACK_NONE) {
		atomic_store_explicit(&table->full, 1, memory_order_relaxed);
		return RECORD_STACK_NONE;
	}
	while (winner == RECORD_STACK_NONE) {
		if (atomic_compare_exchange_strong_explicit(
			    &table->slots[place], &empty, (hash & ~ID_MASK) | id,
			    memory_order_acq_rel, memory_order_acquire))
			return id;
		empty = 0;
		winner = find(table, hash, &place);
	}
	return winner;
}

/* Adds to the hash the numbers of the places where code was unloaded. A return address may lie behind the function that
 * made the call. Keys and words that are no addresses lie in no place, or differ for one change of it. */
static __attribute__((noinline)) uint64_t mix_places(const struct stack_table *table,
						     const uint64_t *keys, uint32_t nr,
						     uint64_t hash, bool *in_place)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t place = code_places_at(&table->places, keys[i] - 1);

		if (place == CODE_PLACE_UNCHANGED)
			continue;
		hash = multiply_fold(hash ^ (place << 8 | i), 0x9e3779b97f4a7c15u);
		*in_place = true;
	}
	return hash;
}

static inline uint64_t hash_of(const struct stack_table *table, const uint64_t *keys, uint32_t nr,
			       uint32_t epoch, bool *in_place)
{
	uint64_t hash = stack_table_hash(keys, nr);

	*in_place = false;
	return __builtin_expect(epoch != 0, 0) ? mix_places(table, keys, nr, hash, in_place) : hash;
}

static uint32_t cache_place(uint64_t hash)
{
	return (uint32_t)(hash >> 32) % STACK_CACHE_ENTRIES;
}

static void remember(struct stack_cache *cache, uint64_t hash, uint32_t stack_id)
{
	cache->entries[cache_place(hash)].hash = hash;
	cache->entries[cache_place(hash)].stack_id = stack_id;
}

uint32_t stack_table_find(struct stack_table *table, struct stack_cache *cache,
			  const uint64_t *keys, uint32_t nr, uint64_t *hash)
{
	uint32_t epoch = stack_table_epoch(table);
	uint64_t place;

	*hash = 0;
	if (nr == 0)
		return RECORD_STACK_NONE;
	*hash = hash_of(table, keys, nr, epoch, &cache->in_place);
	cache->epoch = epoch;
	if (__builtin_expect(cache->in_place, 0))
		atomic_fetch_add_explicit(&table->nr_in_places, 1, memory_order_relaxed);

	uint32_t at = cache_place(*hash);
	if (cache->entries[at].hash == *hash && cache->entries[at].stack_id != RECORD_STACK_NONE)
		return cache->entries[at].stack_id;
	uint32_t stack_id = find(table, *hash, &place);
	if (stack_id != RECORD_STACK_NONE)
		remember(cache, *hash, stack_id);
	return stack_id;
}

/* Native words are their own keys. Others are not: as a key a range has its name's number, as a word its code's. So
 * bodies with such words are told apart from keys. */
static uint64_t hash_of_body(const struct stack_table *table, const uint64_t *words, uint32_t nr,
			     uint32_t epoch)
{
	bool in_place;
	const uint64_t hash = hash_of(table, words, nr, epoch, &in_place);

	for (uint32_t i = 0; i < nr; i++)
		if (!stack_word_is_native(words[i]))
			return multiply_fold(hash, 0xe7037ed1a0b428dbu);
	return hash;
}

/* Enters one more hash for a stack, if there is room. */
static __attribute__((noinline, cold)) void enter(struct stack_table *table, uint64_t hash,
						  uint32_t stack_id, _Atomic uint32_t *nr,
						  uint32_t max)
{
	uint64_t place, empty = 0;

	if (find(table, hash, &place) != RECORD_STACK_NONE)
		return;
	if (atomic_load_explicit(nr, memory_order_relaxed) >= max ||
	    atomic_fetch_add_explicit(nr, 1, memory_order_relaxed) >= max)
		return;
	/* Whoever loses the race for the slot leaves its hash out: then the stack is looked up by its body again. */
	atomic_compare_exchange_strong_explicit(&table->slots[place], &empty,
						(hash & ~ID_MASK) | stack_id, memory_order_acq_rel,
						memory_order_relaxed);
}

__attribute__((cold)) uint32_t stack_table_add(struct stack_table *table, struct stack_cache *cache,
					       uint64_t hash, const uint64_t *words, uint32_t nr)
{
	uint64_t body = hash_of_body(table, words, nr, cache->epoch), place;

	/* A place has changed since the walk. What lies there now is not what the words stand for. */
	if (stack_table_epoch(table) != cache->epoch)
		body = hash;
	uint32_t stack_id = find(table, body, &place);

	if (stack_id != RECORD_STACK_NONE) {
		enter(table, hash, stack_id, &table->nr_others, STACK_TABLE_OTHERS);
	} else {
		stack_id = find(table, hash, &place);
		if (stack_id == RECORD_STACK_NONE)
			stack_id = insert(table, hash, place, words, nr);
		/* The keys of native frames are their words. */
		if (stack_id != RECORD_STACK_NONE && body != hash)
			enter(table, body, stack_id, &table->nr_bodies, STACK_TABLE_BODIES);
	}
	if (stack_id != RECORD_STACK_NONE)
		remember(cache, hash, stack_id);
	return stack_id;
}
