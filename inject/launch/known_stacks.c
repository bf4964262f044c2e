#include "known_stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "known_tree.h"

#include "proto/launch_path.h"
#include "proto/record.h"
#include "proto/sparse_memory.h"
#include "python/python_record.h"

#define FOLLOWS 2048u
#define TRIES   4096u
#define TRY_MIN 2u /* a stack is recorded when it comes for the second time, */
#define TRY_MAX 8u /* and at most so many times less one, in different shapes */
#define REST    65536u
#define WORTH   4u /* hits for each record, or the memory is too small for this thread's stacks */
#define FETCHED 8u /* lines of a record */

/* Looking for a stack in vain costs a part of a walk. It stops for a while if fewer than a quarter are found. */
#define VAIN      256u /* stacks that were neither found nor recorded; then it is decided */
#define VAIN_HITS (VAIN / 3)
#define PAUSE_MIN 1024u /* captures; each further pause is twice as long, */
#define PAUSE_MAX 16384u

struct known_memory {
	struct known_tree tree;
	uint32_t follow
		[FOLLOWS];    /* by the two records that were found last: the one that came then */
	uint8_t tries[TRIES]; /* by stack id: how often it was not found */
	struct walk_reads reads;
	_Alignas(KNOWN_RECORD_UNIT) char records[];
};

#define UNITS ((KNOWN_STACKS_BYTES - (uint32_t)sizeof(struct known_memory)) / KNOWN_RECORD_UNIT)

_Static_assert(UNITS <= UINT16_MAX, "numbers of records");
_Static_assert(sizeof(struct known_memory) % KNOWN_RECORD_UNIT == 0,
	       "records start on cache lines");

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
__attribute__((cold)) void known_stacks_clear(struct known_stacks *known)
{
	if (known->memory)
		memset(known->memory, 0, offsetof(struct known_memory, reads));
	known->used = 1;
	known->last = known->last_but_one = 0;
	known->rest = 0;
	known->nr_records = 0;
	known->hits = known->hits_before = 0;
	known->vain = known->pause = known->pauses = 0;
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

static inline const struct known_record *record_at(struct known_memory *memory, uint32_t number)
{
	return known_record_at(memory->records, number);
}

static inline void fetch(const struct known_record *record)
{
	for (uint32_t i = 0; i < FETCHED; i++)
		__builtin_prefetch((const char *)record + i * KNOWN_RECORD_UNIT);
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

static inline struct known_tree_stack tree_stack(const struct known_query *query)
{
	return (struct known_tree_stack){hash_of(query), query->start, query->high};
}

/* Returns the record's number; 0: there is none. */
static __attribute__((noinline)) uint32_t look_up(struct known_memory *memory,
						  const struct known_query *query)
{
	const struct known_tree_stack stack = tree_stack(query);
	uint32_t number = known_tree_find(&memory->tree, memory->records, &stack);

	while (number) {
		const struct known_record *record = record_at(memory, number);

		fetch(record);
		if (holds(record, query))
			break;
		number = record->older;
	}
	return number;
}

LAUNCH_PATH const struct known_record *known_stacks_find(struct known_stacks *known,
							 const struct known_query *query)
{
	struct known_memory *memory = known->memory;

	if (!memory)
		return NULL;
	uint32_t *guess = follower(known), number = *guess;
	if (number == 0 || !holds(record_at(memory, number), query)) {
		number = look_up(memory, query);
		if (number == 0)
			return NULL;
		*guess = number;
	}
	known->last_but_one = known->last;
	known->last = number;
	known->hits++;
	return record_at(memory, number);
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
	known_stacks_clear(known);
	return true;
}

/* Counts a capture that looked for its stack in vain, and did not record it. */
static void count_vain(struct known_stacks *known)
{
	if (!known->memory || ++known->vain < VAIN)
		return;
	known->vain = 0;
	if (known->hits - known->hits_before < VAIN_HITS) {
		known->pause = known->pauses ? 2 * known->pauses : PAUSE_MIN;
		known->pause = known->pause < PAUSE_MAX ? known->pause : PAUSE_MAX;
	}
	known->pauses = known->pause;
	known->hits_before = known->hits;
}

/* Records of other epochs hold no more. They would hide the new ones, which read the same. */
static void look_at_epochs(struct known_stacks *known, const struct known_query *query)
{
	if (known->table_epoch == query->table_epoch && known->stack_epoch == query->stack_epoch)
		return;
	known_stacks_clear(known);
	known->table_epoch = query->table_epoch;
	known->stack_epoch = query->stack_epoch;
}

__attribute__((cold)) bool known_stacks_wants(struct known_stacks *known,
					      const struct known_query *query, uint32_t stack_id)
{
	uint8_t *tries;

	if (!WALK_RECORD_POSSIBLE)
		return false;
	look_at_epochs(known, query);
	if (known->rest) {
		known->rest--;
		count_vain(known);
		return false;
	}
	if (!known->memory && !map(known))
		return false;
	tries = &known->memory->tries[stack_id % TRIES];
	if (stack_id == RECORD_STACK_NONE || *tries >= TRY_MAX) {
		count_vain(known);
		return false;
	}
	return ++*tries >= TRY_MIN;
}

struct walk_reads *known_stacks_reads(struct known_stacks *known)
{
	return &known->memory->reads;
}

__attribute__((cold)) void known_stacks_add(struct known_stacks *known,
					    const struct known_query *query, uint32_t stack_id,
					    bool truncated)
{
	uint32_t nr_python = python_record_count(query->layout, query->python);
	struct known_record head = {
		.stack_id = stack_id,
		.stack_epoch = query->stack_epoch,
		.options = query->options,
		.nr_python = (uint16_t)nr_python,
		.nr_outer = (uint16_t)query->nr_outer,
		.truncated = truncated,
	};
	const struct walk_reads *reads = known_stacks_reads(known);

	if (known->disturbed || nr_python > PYTHON_RECORD_MAX)
		return;
	walk_record_head(&head.walk, reads);
	uint64_t python_at = offsetof(struct known_record, walk) + walk_record_bytes(&head.walk);
	uint64_t outer_at = python_at + nr_python * sizeof(struct python_read);
	uint64_t bytes = outer_at + query->nr_outer * sizeof(uint64_t);
	uint32_t units = (uint32_t)((bytes + KNOWN_RECORD_UNIT - 1) / KNOWN_RECORD_UNIT);
	if (units > UNITS - known->used && !make_room(known))
		return;

	const struct known_tree_stack stack = tree_stack(query);
	uint32_t number = known->used;
	struct known_record *record = known_record_at(known->memory->records, number);
	char *memory = (char *)record;
	*record = head;
	walk_record_write(&record->walk, reads);
	python_record_write(query->layout, query->python,
			    (struct python_read *)(memory + python_at), nr_python);
	if (query->nr_outer)
		memcpy(memory + outer_at, query->outer, query->nr_outer * sizeof(uint64_t));
	if (!known_tree_enter(&known->memory->tree, known->memory->records, number, &stack)) {
		make_room(known);
		return;
	}
	known->used += units;
	known->nr_records++;
}
