/* What each user's processes have put into the dictionaries. Ids are never given back, so that one user alone could use
 * them up for everybody: users share them (fair_shares.h). Which strings and stacks are known is remembered for each
 * user apart, so that none pushes out another's. Single-threaded: only the agent loop calls it. */
#ifndef USER_SHARES_H
#define USER_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_dictionary;
struct string_dictionary;
struct user_share;
struct user_shares;

#define USER_SHARES_BYTES_MAX (64ull << 20) /* of what is remembered, all users together */

/* The dictionaries are borrowed until user_shares_destroy() (accepts NULL). NULL: out of memory. */
struct user_shares *user_shares_create(struct string_dictionary *strings,
				       struct stack_dictionary *stacks);
void user_shares_destroy(struct user_shares *shares);

uint64_t user_shares_bytes(const struct user_shares *shares); /* that are remembered */

/* A process of the user's begins: its share, borrowed until user_shares_destroy(). NULL: out of memory. */
struct user_share *user_share_join(struct user_shares *shares, uid_t uid);

/* A process has ended. What is remembered of a user other than root and our own is then forgotten, unless more of it
 * was asked for again than was entered. share: NULL is accepted. */
void user_share_leave(struct user_share *share);

/* Root's, or our own user's. */
bool user_share_is_trusted(const struct user_share *share);

/* What is entered between the two is this user's. Remembering more than what is left of USER_SHARES_BYTES_MAX, the user
 * forgets all. Returns whether the user may enter more. */
void user_share_begin(struct user_share *share);
bool user_share_end(struct user_share *share);

#endif
