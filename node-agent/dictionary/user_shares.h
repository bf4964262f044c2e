/* Counts what each user's processes have put into the dictionaries. Ids are never given back, and one user could use
 * them all up: so users share them (fair_shares.h). Known strings and stacks are remembered for each user separately,
 * so that no user pushes out another user's. Single-threaded: only the agent loop calls it. */
#ifndef USER_SHARES_H
#define USER_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_dictionary;
struct string_dictionary;
struct user_share;
struct user_shares;

#define USER_SHARES_BYTES_MAX (64ull << 20) /* bytes remembered of all users together */

/* The dictionaries are borrowed until user_shares_destroy(), which accepts NULL. Returns NULL if out of memory. */
struct user_shares *user_shares_create(struct string_dictionary *strings,
				       struct stack_dictionary *stacks);
void user_shares_destroy(struct user_shares *shares);

/* Returns the bytes that are remembered of all users. */
uint64_t user_shares_bytes(const struct user_shares *shares);

/* Call it when a process of the user begins. Returns the user's share, borrowed until user_shares_destroy(). NULL: out
 * of memory. */
struct user_share *user_share_join(struct user_shares *shares, uid_t uid);

/* Call it when a process has ended. Forgets what is remembered of the user, unless more of it was found again than was
 * entered. Nothing of root and our own user is forgotten. Accepts NULL. */
void user_share_leave(struct user_share *share);

/* Returns whether it is the share of root or our own user. */
bool user_share_is_trusted(const struct user_share *share);

/* What is entered between the two calls is this user's. If more is remembered of the user than is left of
 * USER_SHARES_BYTES_MAX, user_share_end() forgets all of it. That function returns whether the user may enter more. */
void user_share_begin(struct user_share *share);
bool user_share_end(struct user_share *share);

#endif
