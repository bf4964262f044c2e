/* How users share what the agent has a finite number of. Root and our own user may take all that is left. Another user
 * may take one more while that user holds fewer than are left. So one user alone gets half of all, the next one half of
 * the rest, and nobody keeps out all others. */
#ifndef FAIR_SHARES_H
#define FAIR_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Root, or our own user. Pure; any thread, as the next two. */
bool fair_shares_trust(uid_t uid);

/* As whose the aggregator counts what is this user's: 0 where the user is trusted, else uid. */
uint32_t fair_shares_owner(uid_t uid);

/* For a user who holds `held` while `left` are left: whether the user may take one more. */
bool fair_shares_admit(uid_t uid, uint32_t held, uint32_t left);

struct fair_share;

/* What each user has taken of one kind. Embedded; zeroed memory: nothing. A few bytes a user, until it is forgotten.
 * Single-threaded. */
struct fair_shares {
	struct fair_share *first; /* owns */
	uint32_t total;           /* taken */
};

/* Whether the user may take one more while `left` are left; false: there is no memory, either. After a true one
 * fair_shares_take() counts it. */
bool fair_shares_may_take(struct fair_shares *shares, uid_t uid, uint32_t left);
void fair_shares_take(struct fair_shares *shares, uid_t uid);

/* Nobody has taken any. */
void fair_shares_forget(struct fair_shares *shares);

#endif
