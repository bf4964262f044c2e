/* What each user's processes have put into the dictionaries that all share. Ids are never given back, so that one user
 * alone could use them up for everybody: a user other than root and our own may take them while it has taken fewer than
 * are left. Kept for the agent's life, a few bytes a user. Single-threaded: only the agent loop calls it. */
#ifndef USER_SHARES_H
#define USER_SHARES_H

#include <stdbool.h>
#include <sys/types.h>

struct stack_dictionary;
struct string_dictionary;
struct user_share;
struct user_shares;

/* The dictionaries are borrowed until user_shares_destroy() (accepts NULL). NULL: out of memory. */
struct user_shares *user_shares_create(const struct string_dictionary *strings,
				       const struct stack_dictionary *stacks);
void user_shares_destroy(struct user_shares *shares);

/* A user's, borrowed until user_shares_destroy(). NULL: out of memory. */
struct user_share *user_shares_find(struct user_shares *shares, uid_t uid);

/* What is entered between the two is this user's. Returns whether the user may enter more. */
void user_share_begin(struct user_share *share);
bool user_share_end(struct user_share *share);

#endif
