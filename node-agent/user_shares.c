#include "user_shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack_dictionary.h"
#include "string_dictionary.h"

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
	uint32_t used[KINDS];
};

struct user_shares {
	const struct string_dictionary *strings;
	const struct stack_dictionary *stacks;
	struct user_share *first; /* owns */
	uint32_t before[KINDS];
};

struct user_shares *user_shares_create(const struct string_dictionary *strings,
				       const struct stack_dictionary *stacks)
{
	struct user_shares *shares = calloc(1, sizeof(*shares));

	if (shares) {
		shares->strings = strings;
		shares->stacks = stacks;
	}
	return shares;
}

void user_shares_destroy(struct user_shares *shares)
{
	if (!shares)
		return;
	while (shares->first) {
		struct user_share *share = shares->first;

		shares->first = share->next;
		free(share);
	}
	free(shares);
}

struct user_share *user_shares_find(struct user_shares *shares, uid_t uid)
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
}

bool user_share_end(struct user_share *share)
{
	uint32_t now[KINDS];
	bool may = true;

	count_all(share->shares, now);
	for (int kind = 0; kind < KINDS; kind++) {
		uint32_t max = kind == KIND_MODULES ? STACK_MODULES_MAX : WIRE_ID_MAX;

		share->used[kind] += now[kind] - share->shares->before[kind];
		may = may && share->used[kind] < max - now[kind];
	}
	return may || share->uid == 0 || share->uid == geteuid();
}
