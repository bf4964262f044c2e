#include "known_stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/launch_path.h"
#include "proto/record.h"
#include "proto/sparse_memory.h"
#include "python/python_record.h"

#define UNIT    64u
#define BUCKETS 1024u
#define WAYS    4u
#define PROBES  8u /* buckets that are looked into */
#define FOLLOWS 2048u
#define TRIES   4096u
#define TRY_MIN 2u /* a stack is recorded when it comes for the second time, */
#define TRY_MAX 9u /* and at most so many times less one, in different shapes */
#define REST    65536u
#define WORTH   4u /* hits for each record, or the memory is too small for this thread's stacks */
#define FETCHED 8u /* lines of a record */

/* Where a record may be found. */
struct place {
	uint32_t tag;
	uint16_t
		at; /* a word above sp that tells the record from its neighbours; PLACE_ANY: none */
	uint16_t unused;
	uint32_t low; /* the low half of that word */
	uint32_t record;
};

#define PLACE_ANY UINT16_MAX

struct bucket {
	struct place places[WAYS]; /* filled in turn; record 0: free */
};

/* Starts on a cache line. Behind the walk's record stand struct python_read python[nr_python] and uint64_t
 * outer[nr_outer]. It does not change once it is written. */
struct known_record {
	uint32_t stack_id, stack_epoch;
	uint32_t options;
	uint16_t nr_python, nr_outer;
	struct walk_record walk;
};

struct known_memory {
	struct bucket buckets[BUCKETS];
	uint32_t follow
		[FOLLOWS];    /* by the two records that were found last: the one that came then */
	uint8_t tries[TRIES]; /* by stack id: how often it was not found */
	struct walk_reads reads;
	_Alignas(64) char records[];
};

#define UNITS ((KNOWN_STACKS_BYTES - (uint32_t)sizeof(struct known_memory)) / UNIT)

_Static_assert(sizeof(struct bucket) == UNIT, "one cache line");
_Static_assert(sizeof(struct known_memory) % UNIT == 0, "records start on cache lines");

static _Atomic uint32_t nr_memories;

/* ---- memory */

static bool map(struct known_stacks *known)
{
	int saved_errno = errno;

	if (atomic_fetch_add_explicit(&nr_memories, 1, memory_order_relaxed) <
	    KNOWN_STACKS_THREADS) {
		known->memory = sparse_memory_map(KNOWN_STACKS_BYTES, PROT_READ | PROT_WRITE);
	}
	if (!known->memory) {
		atomic_fetch_sub_explicit(&nr_memories, 1, memory_order_relaxed);
		known->rest = REST;
	}
	known->used = 1; /* record 0 is none */
	known->nr_records = 0;
	known->hits = 0;
	errno = saved_errno;
	return known->memory != NULL;
}

/* Forgets all stacks, and keeps the memory. */
static __attribute__((cold)) void clear(struct known_stacks *known)
{
	if (known->memory)
		memset(known->memory, 0, offsetof(struct known_memory, reads));
	known->used = 1;
	known->last = known->last_but_one = 0;
	known->rest = 0;
	known->nr_records = 0;
	known->hits = 0;
}

void known_stacks_fini(struct known_stacks *known)
{
	if (!known->memory)
		return;
	munmap(known->memory, KNOWN_STACKS_BYTES);
	atomic_fetch_sub_explicit(&nr_memories, 1, memory_order_relaxed);
	*known = (struct known_stacks){0};
}

/* ---- finding */

LAUNCH_PATH bool known_stacks_begin(struct known_stacks *known)
{
	if (known->busy) {
		known->disturbed = true;
		return false;
	}
	known->busy = true;
	known->disturbed = false;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

LAUNCH_PATH void known_stacks_end(struct known_stacks *known)
{
	atomic_signal_fence(memory_order_seq_cst);
	known->busy = false;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline const struct known_record *record_at(const struct known_memory *memory,
						   uint32_t number)
{
	return (const struct known_record *)(memory->records + (uint64_t)number * UNIT);
}

static inline void fetch(const struct known_record *record)
{
	for (uint32_t i = 0; i < FETCHED; i++)
		__builtin_prefetch((const char *)record + i * UNIT);
}

static inline uint32_t *follower(const struct known_stacks *known)
{
	return &known->memory->follow[(mix(known->last, known->last_but_one) >> 32) % FOLLOWS];
}

LAUNCH_PATH void known_stacks_prefetch(const struct known_stacks *known)
{
	if (known->memory)
		fetch(record_at(known->memory, *follower(known)));
}

/* The layout of the stack is mostly that of its distance from the page's start, on a fiber's stack, too. */
static inline uint64_t hash_of(const struct known_query *query)
{
	uint64_t words = python_record_hash(query->layout, query->python);

	for (uint32_t i = 0; i < query->nr_outer; i++)
		words = (words << 5 | words >> 59) ^ query->outer[i];
	return mix(query->start->pc ^ (query->start->sp & 0xfff8) << 48, words ^ query->options);
}

static inline const struct python_read *python_of(const struct known_record *record)
{
	return (const struct python_read *)((const char *)&record->walk +
					    walk_record_bytes(&record->walk));
}

/* Proves that the stack is the record's. */
static inline bool holds(const struct known_record *record, const struct known_query *query)
{
	const struct python_read *python = python_of(record);
	const uint64_t *outer = (const uint64_t *)(python + record->nr_python);
	uint64_t differs = (record->stack_epoch ^ query->stack_epoch) |
			   (record->options ^ query->options) |
			   (record->nr_outer ^ query->nr_outer);

	if (differs || record->walk.pc != query->start->pc)
		return false;
	for (uint32_t i = 0; i < record->nr_outer; i++)
		differs |= outer[i] ^ query->outer[i];
	if (query->python)
		launch_meter_enter_part(query->meter, LAUNCH_METER_PYTHON);
	if (differs ||
	    !python_record_holds(query->layout, query->python, python, record->nr_python))
		return false;
	launch_meter_enter_part(query->meter, LAUNCH_METER_NATIVE);
	return walk_record_holds(&record->walk, query->start, query->high, query->table_epoch);
}

static inline struct bucket *bucket_of(struct known_memory *memory, uint64_t hash, uint32_t probe)
{
	return &memory->buckets[((hash >> 32) + probe) % BUCKETS];
}

/* A word of the stack that a place names is only read to choose, so any value will do. */
static inline __attribute__((no_sanitize("address"), no_sanitize("thread"))) bool
may_be(const struct place *place, const struct known_query *query)
{
	const uint64_t sp = query->start->sp, at = place->at * sizeof(uint64_t);

	if (place->at == PLACE_ANY)
		return true;
	return sp % sizeof(uint64_t) == 0 && sp <= query->high && at < query->high - sp &&
	       query->high - sp - at >= sizeof(uint64_t) &&
	       (uint32_t) * (const uint64_t *)(uintptr_t)(sp + at) == place->low;
}

/* Returns the record's number; 0: there is none. */
static __attribute__((noinline)) uint32_t look_up(struct known_memory *memory,
						  const struct known_query *query)
{
	uint64_t hash = hash_of(query);

	for (uint32_t probe = 0; probe < PROBES; probe++) {
		const struct bucket *bucket = bucket_of(memory, hash, probe);

		for (uint32_t way = 0; way < WAYS; way++) {
			const struct place *place = &bucket->places[way];

			if (place->record == 0)
				return 0;
			if (place->tag != (uint32_t)hash || !may_be(place, query))
				continue;
			fetch(record_at(memory, place->record));
			if (holds(record_at(memory, place->record), query))
				return place->record;
		}
	}
	return 0;
}

LAUNCH_PATH uint32_t known_stacks_find(struct known_stacks *known, const struct known_query *query)
{
	struct known_memory *memory = known->memory;

	if (!memory)
		return RECORD_STACK_NONE;
	uint32_t *guess = follower(known), number = *guess;
	if (number == 0 || !holds(record_at(memory, number), query)) {
		number = look_up(memory, query);
		if (number == 0)
			return RECORD_STACK_NONE;
		*guess = number;
	}
	known->last_but_one = known->last;
	known->last = number;
	known->hits++;
	return record_at(memory, number)->stack_id;
}

/* ---- recording: rare */

/* Makes room by forgetting all stacks, if that pays. If not, keeps them, records none for a while, and forgets all of
 * them the next time. */
static bool make_room(struct known_stacks *known)
{
	if (known->hits < (uint64_t)known->nr_records * WORTH) {
		known->rest = REST;
		known->nr_records = 0;
		return false;
	}
	clear(known);
	return true;
}

__attribute__((cold)) bool known_stacks_wants(struct known_stacks *known, uint32_t stack_id)
{
	uint8_t *tries;

	if (!WALK_RECORD_POSSIBLE)
		return false;
	if (known->rest) {
		known->rest--;
		return false;
	}
	if (!known->memory && !map(known))
		return false;
	tries = &known->memory->tries[stack_id % TRIES];
	if (*tries < TRY_MAX)
		++*tries;
	return *tries >= TRY_MIN && *tries < TRY_MAX;
}

/* Tells the place of a new record from that of an older one with the same tag: by the first return address in which
 * they differ, at the same place of the stack. *chosen: words of the new record that were passed. */
static __attribute__((cold)) void tell_apart(const struct known_record *record, struct place *place,
					     const struct known_record *older,
					     struct place *older_place, uint32_t *chosen)
{
	const struct walk_record *a = &record->walk, *b = &older->walk;

	for (uint32_t i = 0; i < a->nr_words && i < b->nr_words; i++) {
		uint32_t a_at, b_at;
		uint64_t a_word = walk_record_word(a, i, &a_at);
		uint64_t b_word = walk_record_word(b, i, &b_at);

		if (a_at != b_at)
			return;
		if ((uint32_t)a_word == (uint32_t)b_word)
			continue;
		if (i >= *chosen) {
			*chosen = i;
			place->at = (uint16_t)(a_at / sizeof(uint64_t));
			place->low = (uint32_t)a_word;
		}
		if (older_place->at < b_at / sizeof(uint64_t)) {
			older_place->at = (uint16_t)(b_at / sizeof(uint64_t));
			older_place->low = (uint32_t)b_word;
		}
		return;
	}
}

/* Enters the record in the first free place, or in place of another one if all are taken. */
static __attribute__((cold)) void enter(struct known_memory *memory,
					const struct known_record *record, uint32_t number,
					uint64_t hash)
{
	struct place place = {.tag = (uint32_t)hash, .at = PLACE_ANY, .record = number};
	struct place *free_place = NULL;
	uint32_t at = 0, chosen = 0;

	if (record->walk.nr_words) {
		place.low = (uint32_t)walk_record_word(&record->walk, 0, &at);
		place.at = (uint16_t)(at / sizeof(uint64_t));
	}
	for (uint32_t i = 0; i < PROBES * WAYS && !free_place; i++) {
		struct place *other = &bucket_of(memory, hash, i / WAYS)->places[i % WAYS];

		if (other->record == 0)
			free_place = other;
		else if (other->tag == place.tag)
			tell_apart(record, &place, record_at(memory, other->record), other,
				   &chosen);
	}
	if (!free_place)
		free_place =
			&bucket_of(memory, hash, number / WAYS % PROBES)->places[number % WAYS];
	*free_place = place;
}

struct walk_reads *known_stacks_reads(struct known_stacks *known)
{
	return &known->memory->reads;
}

__attribute__((cold)) void known_stacks_add(struct known_stacks *known,
					    const struct known_query *query, uint32_t stack_id)
{
	uint32_t nr_python = python_record_count(query->layout, query->python);
	struct known_record head = {
		.stack_id = stack_id,
		.stack_epoch = query->stack_epoch,
		.options = query->options,
		.nr_python = (uint16_t)nr_python,
		.nr_outer = (uint16_t)query->nr_outer,
	};
	const struct walk_reads *reads = known_stacks_reads(known);

	if (known->disturbed || nr_python > PYTHON_RECORD_MAX)
		return;
	walk_record_head(&head.walk, reads);
	uint64_t python_at = offsetof(struct known_record, walk) + walk_record_bytes(&head.walk);
	uint64_t outer_at = python_at + nr_python * sizeof(struct python_read);
	uint64_t bytes = outer_at + query->nr_outer * sizeof(uint64_t);
	uint32_t units = (uint32_t)((bytes + UNIT - 1) / UNIT);
	if (units > UNITS - known->used && !make_room(known))
		return;

	uint32_t number = known->used;
	char *memory = known->memory->records + (uint64_t)number * UNIT;
	struct known_record *record = (struct known_record *)memory;
	*record = head;
	walk_record_write(&record->walk, reads);
	python_record_write(query->layout, query->python,
			    (struct python_read *)(memory + python_at), nr_python);
	if (query->nr_outer)
		memcpy(memory + outer_at, query->outer, query->nr_outer * sizeof(uint64_t));
	known->used += units;
	known->nr_records++;
	enter(known->memory, record, number, hash_of(query));
}
