#include "user_shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stack_dictionary.h"
#include "string_dictionary.h"

#include "node-agent/base/fair_shares.h"
#include "node-agent/base/trusted_user.h"

enum kind {
	KIND_STRINGS,
	KIND_MODULES,
	KIND_CODES,
	KIND_FRAMES,
	KIND_NODES,
	KINDS,
};

struct user_share {
	struct user_share *next;
	struct user_shares *shares;
	uid_t uid;
	uint32_t nr_processes;
	uint32_t used[KINDS];
	struct id_memory strings;
	struct stack_memory stacks;
};

struct user_shares {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct user_share *first; /* owns */
	uint32_t before[KINDS];
};

struct user_shares *user_shares_create(struct string_dictionary *strings,
				       struct stack_dictionary *stacks)
{
	struct user_shares *shares = calloc(1, sizeof(*shares));

	if (shares) {
		shares->strings = strings;
		shares->stacks = stacks;
	}
	return shares;
}

bool user_share_is_trusted(const struct user_share *share)
{
	return trusted_user(share->uid);
}

static uint64_t bytes_of(const struct user_share *share)
{
	return id_memory_bytes(&share->strings) + stack_memory_bytes(&share->stacks);
}

static void forget(struct user_share *share)
{
	id_memory_clear(&share->strings);
	stack_memory_clear(&share->stacks);
}

void user_shares_destroy(struct user_shares *shares)
{
	if (!shares)
		return;
	while (shares->first) {
		struct user_share *share = shares->first;

		shares->first = share->next;
		forget(share);
		free(share);
	}
	free(shares);
}

static struct user_share *find(struct user_shares *shares, uid_t uid)
{
	struct user_share *share = shares->first;

	while (share && share->uid != uid)
		share = share->next;
	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->next = shares->first;
	share->shares = shares;
	share->uid = uid;
	shares->first = share;
	return share;
}

struct user_share *user_share_join(struct user_shares *shares, uid_t uid)
{
	struct user_share *share = find(shares, uid);

	if (share)
		share->nr_processes++;
	return share;
}

/* Returns whether more was found again than was entered. Processes of a job find frames that their stacks share. */
static bool is_useful(const struct user_share *share)
{
	const struct stack_memory *stacks = &share->stacks;

	return share->strings.nr_found + stacks->codes.nr_found + stacks->frames.nr_found +
		       stacks->nodes.nr_found >
	       (uint64_t)share->strings.count + stacks->codes.count + stacks->frames.count +
		       stacks->nodes.count;
}

void user_share_leave(struct user_share *share)
{
	if (!share)
		return;
	share->nr_processes--;
	if (!user_share_is_trusted(share) && !is_useful(share))
		forget(share);
}

uint64_t user_shares_bytes(const struct user_shares *shares)
{
	uint64_t all = 0;

	for (const struct user_share *share = shares->first; share; share = share->next)
		all += bytes_of(share);
	return all;
}

/* Forgets a user's memory that is larger than the room left for all users. */
static void bound_memory(struct user_share *share)
{
	if (user_shares_bytes(share->shares) + bytes_of(share) > USER_SHARES_BYTES_MAX)
		forget(share);
}

static void count_all(const struct user_shares *shares, uint32_t counts[static KINDS])
{
	counts[KIND_STRINGS] = string_dictionary_count(shares->strings);
	counts[KIND_MODULES] = stack_dictionary_nr_modules(shares->stacks);
	counts[KIND_CODES] = stack_dictionary_nr_codes(shares->stacks);
	counts[KIND_FRAMES] = stack_dictionary_nr_frames(shares->stacks);
	counts[KIND_NODES] = stack_dictionary_nr_nodes(shares->stacks);
}

void user_share_begin(struct user_share *share)
{
	count_all(share->shares, share->shares->before);
	string_dictionary_use(share->shares->strings, &share->strings,
			      fair_shares_owner(share->uid));
	stack_dictionary_use(share->shares->stacks, &share->stacks);
}

bool user_share_end(struct user_share *share)
{
	uint32_t now[KINDS];
	bool may = true;

	string_dictionary_use(share->shares->strings, NULL, 0);
	stack_dictionary_use(share->shares->stacks, NULL);
	bound_memory(share);
	count_all(share->shares, now);
	for (int kind = 0; kind < KINDS; kind++) {
		uint32_t max = kind == KIND_MODULES ? STACK_MODULES_MAX : WIRE_ID_MAX;

		share->used[kind] += now[kind] - share->shares->before[kind];
		may = may && fair_shares_admit(share->uid, share->used[kind], max - now[kind]);
	}
	return may || user_share_is_trusted(share);
}
