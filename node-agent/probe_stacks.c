#include "probe_stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/launch_event.h"
#include "proto/record.h"
#include "proto/stack_word.h"

#define WAITS_MIN  1024u
#define STACKS_MIN 256u
#define WORDS_MIN  4096u
#define WORDS_MAX  (1u << 23) /* for all stacks together, as in a ring */
#define NOWHERE    UINT32_MAX

struct stack {
	uint64_t hash; /* two of 2^18 are alike with a probability of 2^-29 */
	uint32_t at;   /* of words */
	uint32_t depth;
};

struct wait {
	uint64_t key;
	uint32_t number; /* PROBE_STACKS_NONE: free */
	uint32_t next;   /* in its chain; NOWHERE: the last */
};

struct probe_stacks {
	struct stack *stacks; /* owns; number - 1 */
	uint32_t *slots;      /* owns; numbers by hash, 0: free; twice max_stacks */
	uint64_t *words;      /* owns */
	struct wait *waits; /* owns; filled in turn, so that the next place is about the oldest's */
	uint32_t *chains;   /* owns; first waits by key; max_waits of them */
	uint32_t nr_stacks, max_stacks, nr_words, max_words;
	uint32_t nr_waits, max_waits, next_wait;
};

static int grow_stacks(struct probe_stacks *stacks);
static int grow_waits(struct probe_stacks *stacks);

struct probe_stacks *probe_stacks_create(void)
{
	struct probe_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks && (grow_stacks(stacks) || grow_waits(stacks))) {
		probe_stacks_destroy(stacks);
		return NULL;
	}
	return stacks;
}

void probe_stacks_destroy(struct probe_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->stacks);
	free(stacks->slots);
	free(stacks->words);
	free(stacks->waits);
	free(stacks->chains);
	free(stacks);
}

/* ---- stacks ------------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint64_t *words, uint32_t depth, uint32_t code_pages)
{
	uint64_t hash = ((uint64_t)code_pages << 8 | depth) + 1;

	for (uint32_t i = 0; i < depth; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static uint32_t *slot_of(const struct probe_stacks *stacks, uint64_t hash)
{
	uint32_t mask = 2 * stacks->max_stacks - 1, i = (uint32_t)(hash >> 32) & mask;

	while (stacks->slots[i] && stacks->stacks[stacks->slots[i] - 1].hash != hash)
		i = (i + 1) & mask;
	return &stacks->slots[i];
}

static int grow_stacks(struct probe_stacks *stacks)
{
	uint32_t max = stacks->max_stacks ? 2 * stacks->max_stacks : STACKS_MIN;
	struct stack *bigger = realloc(stacks->stacks, max * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	stacks->stacks = bigger;
	uint32_t *slots = calloc(2ul * max, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(stacks->slots);
	stacks->slots = slots;
	stacks->max_stacks = max;
	for (uint32_t i = 0; i < stacks->nr_stacks; i++)
		*slot_of(stacks, stacks->stacks[i].hash) = i + 1;
	return 0;
}

static int reserve_words(struct probe_stacks *stacks, uint32_t count)
{
	uint32_t max = stacks->max_words ? stacks->max_words : WORDS_MIN;

	while (max < stacks->nr_words + count)
		max *= 2;
	if (max == stacks->max_words)
		return 0;
	uint64_t *bigger = realloc(stacks->words, max * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	stacks->words = bigger;
	stacks->max_words = max;
	return 0;
}

/* Copies what is an address of the process, with a mark where frames are missing. Returns the depth. */
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
	uint64_t hash = hash_of(words, depth, code_pages);

	*number = *slot_of(stacks, hash);
	if (*number)
		return 0;
	*number = PROBE_STACKS_FULL;
	if (stacks->nr_stacks == RECORD_STACKS_MAX || stacks->nr_words + depth > WORDS_MAX)
		return 0;
	int r = stacks->nr_stacks == stacks->max_stacks ? grow_stacks(stacks) : 0;
	if (r == 0)
		r = reserve_words(stacks, depth);
	if (r)
		return r;
	memcpy(stacks->words + stacks->nr_words, words, depth * sizeof(*words));
	stacks->stacks[stacks->nr_stacks++] =
		(struct stack){.hash = hash, .at = stacks->nr_words, .depth = depth};
	stacks->nr_words += depth;
	*number = stacks->nr_stacks;
	*slot_of(stacks, hash) = *number;
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

static uint32_t *chain_of(const struct probe_stacks *stacks, uint64_t key)
{
	return &stacks->chains[(uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) &
			       (stacks->max_waits - 1)];
}

/* What points to the wait, or to NOWHERE at the end of its chain. */
static uint32_t *find(const struct probe_stacks *stacks, uint64_t key)
{
	uint32_t *at = chain_of(stacks, key);

	while (*at != NOWHERE && stacks->waits[*at].key != key)
		at = &stacks->waits[*at].next;
	return at;
}

static void insert(struct probe_stacks *stacks, uint32_t place, uint64_t key, uint32_t number)
{
	uint32_t *chain = chain_of(stacks, key);

	stacks->waits[place] = (struct wait){.key = key, .number = number, .next = *chain};
	*chain = place;
}

/* Returns its number. */
static uint32_t take_out(struct probe_stacks *stacks, uint32_t *at)
{
	struct wait *wait = &stacks->waits[*at];
	uint32_t number = wait->number;

	*at = wait->next;
	wait->number = PROBE_STACKS_NONE;
	stacks->nr_waits--;
	return number;
}

static int grow_waits(struct probe_stacks *stacks)
{
	uint32_t before = stacks->max_waits, max = before ? 2 * before : WAITS_MIN;
	struct wait *bigger = realloc(stacks->waits, max * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	stacks->waits = bigger;
	uint32_t *chains = malloc(max * sizeof(*chains));
	if (!chains)
		return -ENOMEM;
	free(stacks->chains);
	stacks->chains = chains;
	stacks->max_waits = max;
	memset(chains, 0xff, max * sizeof(*chains));
	memset(bigger + before, 0, (max - before) * sizeof(*bigger));
	for (uint32_t i = 0; i < before; i++)
		if (bigger[i].number)
			insert(stacks, i, bigger[i].key, bigger[i].number);
	return 0;
}

static void step(struct probe_stacks *stacks)
{
	stacks->next_wait = (stacks->next_wait + 1) & (stacks->max_waits - 1);
}

static int wait_for_launch(struct probe_stacks *stacks, uint64_t key, uint32_t number)
{
	uint32_t *at = find(stacks, key);

	if (*at != NOWHERE)
		take_out(stacks, at);
	if (stacks->nr_waits == PROBE_STACKS_WAITING_MAX) {
		take_out(stacks, find(stacks, stacks->waits[stacks->next_wait].key));
	} else if (2 * stacks->nr_waits >= stacks->max_waits &&
		   stacks->max_waits < PROBE_STACKS_WAITING_MAX) {
		int r = grow_waits(stacks);

		if (r)
			return r;
	}
	while (stacks->waits[stacks->next_wait].number)
		step(stacks);
	insert(stacks, stacks->next_wait, key, number);
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
	uint32_t *at = find(stacks, key_of(tid, correlation_id));

	return *at == NOWHERE ? PROBE_STACKS_NONE : take_out(stacks, at);
}

uint32_t probe_stacks_waiting(const struct probe_stacks *stacks)
{
	return stacks->nr_waits;
}
