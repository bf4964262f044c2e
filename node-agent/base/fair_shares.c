#include "fair_shares.h"

#include <stdlib.h>

#include "trusted_user.h"

struct fair_share {
	struct fair_share *next;
	uid_t uid;
	uint32_t taken;
};

uint32_t fair_shares_owner(uid_t uid)
{
	return trusted_user(uid) ? 0 : uid;
}

bool fair_shares_admit(uid_t uid, uint32_t held, uint32_t left)
{
	return trusted_user(uid) ? left > 0 : held < left;
}

static struct fair_share *find(const struct fair_shares *shares, uid_t uid)
{
	struct fair_share *share = shares->first;

	while (share && share->uid != uid)
		share = share->next;
	return share;
}

bool fair_shares_may_take(struct fair_shares *shares, uid_t uid, uint32_t left)
{
	struct fair_share *share = find(shares, uid);

	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return false;
		share->uid = uid;
		share->next = shares->first;
		shares->first = share;
	}
	return fair_shares_admit(uid, share->taken, left);
}

void fair_shares_take(struct fair_shares *shares, uid_t uid)
{
	struct fair_share *share = find(shares, uid);

	shares->total++;
	if (share)
		share->taken++;
}

void fair_shares_forget(struct fair_shares *shares)
{
	while (shares->first) {
		struct fair_share *share = shares->first;

		shares->first = share->next;
		free(share);
	}
	shares->total = 0;
}
