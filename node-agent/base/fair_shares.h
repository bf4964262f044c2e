/* Divides a limited number of places among users. Trusted users may take all that is left. Another user may
 * take one more while that user holds fewer than are left. So a user alone gets half of all, the next user half of the
 * rest, and no user can keep all others out. */
#ifndef FAIR_SHARES_H
#define FAIR_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the owner that the aggregator counts for this user's texts: 0 if the user is trusted (trusted_user.h), else
 * uid. Pure; any thread, as for fair_shares_admit(). */
uint32_t fair_shares_owner(uid_t uid);

/* Returns whether a user that holds `held` may take one more while `left` are left. */
bool fair_shares_admit(uid_t uid, uint32_t held, uint32_t left);

struct fair_share;

/* The number of places that each user has taken. Embedded; zeroed memory: none. It has a few bytes for each user.
 * Single-threaded. */
struct fair_shares {
	struct fair_share *first; /* owns */
	uint32_t total;           /* taken */
};

/* Returns whether the user may take one more while `left` are left; false also for lack of memory. After true, the
 * caller counts the place by fair_shares_take(). */
bool fair_shares_may_take(struct fair_shares *shares, uid_t uid, uint32_t left);
void fair_shares_take(struct fair_shares *shares, uid_t uid);

/* Sets all numbers to 0. */
void fair_shares_forget(struct fair_shares *shares);

#endif
