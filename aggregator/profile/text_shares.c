#include "text_shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct text_share {
	uint32_t owner;
	uint64_t bytes;
};

void text_shares_fini(struct text_shares *shares)
{
	free(shares->shares);
	*shares = (struct text_shares){0};
}

/* NULL: out of memory. */
static struct text_share *find(struct text_shares *shares, uint32_t owner)
{
	for (uint32_t i = 0; i < shares->nr_shares; i++)
		if (shares->shares[i].owner == owner)
			return &shares->shares[i];
	if (array_reserve(&shares->shares, &shares->max_shares, shares->nr_shares + 1,
			  sizeof(*shares->shares)))
		return NULL;
	shares->shares[shares->nr_shares] = (struct text_share){.owner = owner};
	return &shares->shares[shares->nr_shares++];
}

int text_shares_take(struct text_shares *shares, uint32_t owner, uint32_t size, bool *has_room)
{
	const uint64_t cost = (uint64_t)size + TEXT_SHARES_COST;
	const uint64_t left = TEXT_SHARES_MAX - shares->bytes;
	struct text_share *share = owner ? find(shares, owner) : NULL;

	*has_room = false;
	if (owner && !share)
		return -ENOMEM;
	if ((share ? share->bytes : 0) + cost > left)
		return 0;
	if (share)
		share->bytes += cost;
	shares->bytes += cost;
	*has_room = true;
	return 0;
}
