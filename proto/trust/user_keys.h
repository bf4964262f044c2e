/* The keys of a site's users, by which its aggregator knows who sends: one file with a line `USER PUBLIC-KEY` for each
 * user. The secret part is in the user's own file (key_set.h). One thread at a time uses a list. */
#ifndef USER_KEYS_H
#define USER_KEYS_H

#include <stdint.h>

#include "key_set.h"

#define USER_KEYS_NAME_MAX 255u /* bytes of a user's name: visible ASCII without '*' */
#define USER_KEYS_LOOK_NS  1000000000ull

struct user_keys;

/* Reads the file, which others may read but not write. 0 or -errno: -EPERM: it may not be believed (trusted_file.h);
 * -EINVAL: a bad line, or a user or key that is there twice. On error *users is NULL, and *error is one line, which the
 * caller owns (free()). */
int user_keys_open(const char *path, struct user_keys **users, char **error);
void user_keys_close(struct user_keys *users); /* accepts NULL */

/* Returns the user with this public key, a Z85 text; NULL: none. If the file has changed, it is read again first, at
 * most once in USER_KEYS_LOOK_NS. A file that cannot be read gets a line on stderr, and the keys stay as they were.
 * Borrowed until the next call. now_ns: CLOCK_MONOTONIC. */
const char *user_keys_find(struct user_keys *users, const char *public_key, uint64_t now_ns);

/* Adds a line to the file, which is made if it is missing (0644). 0; -EINVAL: not such a name or key; -EEXIST: the user
 * has a key there; other -errno. On error nothing is changed, and *error is set as above. */
int user_keys_add(const char *path, const char *user, const char *public_key, char **error);

#endif
