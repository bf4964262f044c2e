#include "probe_stacks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "bpf/launch_event.h"
#include "proto/record.h"
#include "proto/stack_word.h"

#define WORDS_MAX (1u << 23) /* of all stacks together; a ring has as many */

struct stack {
	uint64_t digest; /* two of 2^18 stacks have one digest with a probability of 2^-29 */
	uint32_t at;     /* index in words */
	uint32_t depth;
};

struct wait {
	uint64_t key;
	uint32_t number; /* stack number; PROBE_STACKS_NONE: the place is free */
};

struct probe_stacks {
	struct stack *stacks; /* owns; stack number - 1 is the index */
	uint64_t *words;      /* owns */
	struct wait *waits;   /* owns; used in turn, so that the next place is about the oldest */
	struct hash_index numbers; /* digest to stack number */
	struct hash_index places;  /* key to index in waits + 1 */
	uint32_t nr_stacks, max_stacks, nr_words, max_words;
	uint32_t nr_waits, max_waits, next_wait;
};

struct probe_stacks *probe_stacks_create(void)
{
	return calloc(1, sizeof(struct probe_stacks));
}

void probe_stacks_destroy(struct probe_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->stacks);
	free(stacks->words);
	free(stacks->waits);
	hash_index_fini(&stacks->numbers);
	hash_index_fini(&stacks->places);
	free(stacks);
}

/* ---- stacks ------------------------------------------------------------------------------------- */

static bool has_digest(const void *context, uint32_t id, const void *key)
{
	const struct probe_stacks *stacks = context;

	return stacks->stacks[id - 1].digest == *(const uint64_t *)key;
}

/* Copies addresses of the process, and puts a mark where frames are missing. Returns the depth. */
static uint32_t sift(const uint64_t *addresses, uint32_t depth, uint64_t *words)
{
	uint32_t nr = 0;

	while (nr < depth && addresses[nr] && stack_word_is_native(addresses[nr])) {
		words[nr] = addresses[nr];
		nr++;
	}
	if (nr == 0)
		words[nr++] = stack_word_mark(STACK_MARK_MISSING);
	else if (nr == LAUNCH_EVENT_DEPTH)
		words[nr++] = stack_word_mark(STACK_MARK_TRUNCATED);
	return nr;
}

static int intern(struct probe_stacks *stacks, const uint64_t *words, uint32_t depth,
		  uint32_t code_pages, uint32_t *number)
{
	uint64_t digest = hash_index_digest(code_pages, words, depth * sizeof(*words));
	uint32_t hash = hash_index_hash_word(digest);

	*number = hash_index_find(&stacks->numbers, hash, has_digest, stacks, &digest);
	if (*number)
		return 0;
	*number = PROBE_STACKS_FULL;
	if (stacks->nr_stacks == RECORD_STACKS_MAX || stacks->nr_words + depth > WORDS_MAX)
		return 0;
	int r = array_reserve(&stacks->stacks, &stacks->max_stacks, stacks->nr_stacks + 1,
			      sizeof(*stacks->stacks));
	if (r == 0)
		r = array_reserve(&stacks->words, &stacks->max_words, stacks->nr_words + depth,
				  sizeof(*stacks->words));
	if (r == 0)
		r = hash_index_insert(&stacks->numbers, hash, stacks->nr_stacks + 1);
	if (r)
		return r;
	memcpy(stacks->words + stacks->nr_words, words, depth * sizeof(*words));
	stacks->stacks[stacks->nr_stacks++] =
		(struct stack){.digest = digest, .at = stacks->nr_words, .depth = depth};
	stacks->nr_words += depth;
	*number = stacks->nr_stacks;
	return 0;
}

const uint64_t *probe_stacks_words(const struct probe_stacks *stacks, uint32_t number,
				   uint32_t *depth)
{
	const struct stack *stack = &stacks->stacks[number - 1];

	*depth = stack->depth;
	return stacks->words + stack->at;
}

/* ---- those that wait ---------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t tid, uint32_t correlation_id)
{
	return (uint64_t)tid << 32 | correlation_id;
}

static bool has_key(const void *context, uint32_t id, const void *key)
{
	const struct probe_stacks *stacks = context;

	return stacks->waits[id - 1].key == *(const uint64_t *)key;
}

/* Returns the place of the wait with this key, + 1; 0: no wait has it. */
static uint32_t find(const struct probe_stacks *stacks, uint64_t key)
{
	return hash_index_find(&stacks->places, hash_index_hash_word(key), has_key, stacks, &key);
}

static uint32_t take_out(struct probe_stacks *stacks, uint32_t id)
{
	if (!id)
		return PROBE_STACKS_NONE;
	struct wait *wait = &stacks->waits[id - 1];
	uint32_t number = wait->number;

	hash_index_replace(&stacks->places, hash_index_hash_word(wait->key), id, 0);
	wait->number = PROBE_STACKS_NONE;
	stacks->nr_waits--;
	return number;
}

/* Sizes double, so max_waits is a power of two. */
static void step(struct probe_stacks *stacks)
{
	stacks->next_wait = (stacks->next_wait + 1) & (stacks->max_waits - 1);
}

static int wait_for_launch(struct probe_stacks *stacks, uint64_t key, uint32_t number)
{
	int r = 0;

	take_out(stacks, find(stacks, key));
	if (stacks->nr_waits == PROBE_STACKS_WAITING_MAX)
		take_out(stacks, stacks->next_wait + 1);
	else if (2 * stacks->nr_waits >= stacks->max_waits &&
		 stacks->max_waits < PROBE_STACKS_WAITING_MAX)
		r = array_reserve_zeroed(&stacks->waits, &stacks->max_waits, stacks->max_waits + 1,
					 sizeof(*stacks->waits));
	if (r)
		return r;
	while (stacks->waits[stacks->next_wait].number)
		step(stacks);
	r = hash_index_insert(&stacks->places, hash_index_hash_word(key), stacks->next_wait + 1);
	if (r)
		return r;
	stacks->waits[stacks->next_wait] = (struct wait){.key = key, .number = number};
	stacks->nr_waits++;
	step(stacks);
	return 0;
}

int probe_stacks_put(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id,
		     const uint64_t *addresses, uint32_t depth, uint32_t code_pages)
{
	uint64_t words[LAUNCH_EVENT_DEPTH + 1];
	uint32_t number, nr = sift(addresses,
				   depth < LAUNCH_EVENT_DEPTH ? depth : LAUNCH_EVENT_DEPTH, words);
	int r = intern(stacks, words, nr, code_pages, &number);

	return r ? r : wait_for_launch(stacks, key_of(tid, correlation_id), number);
}

uint32_t probe_stacks_take(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id)
{
	return take_out(stacks, find(stacks, key_of(tid, correlation_id)));
}

uint32_t probe_stacks_waiting(const struct probe_stacks *stacks)
{
	return stacks->nr_waits;
}
