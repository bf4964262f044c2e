/* How many different rows a process may have: each stays in the store for good, and a hostile process makes as many as
 * it has records, of streams, threads and devices that do not exist. Beyond the limit rows are merged. A set of 32-bit
 * hashes: of 2^18 rows a few that are new are taken for known, which costs nothing. One is used by one thread. */
#ifndef FOLD_LIMIT_H
#define FOLD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "fold_table.h"

#include "proto/hash_index.h"

#define FOLD_LIMIT_ROWS_MAX 262144u

/* Embedded; zeroed memory knows no row. */
struct fold_limit {
	struct hash_index rows;
};

void fold_limit_fini(struct fold_limit *limit);

/* Whether a row with this key is there, or may be: *has_room. 0 or -ENOMEM. */
int fold_limit_take(struct fold_limit *limit, const struct fold_key *key, bool *has_room);

/* The row in place of one that has no room: of the same process, device (as far as there are such), kind and match,
 * without stack, name, stream and thread. */
struct fold_key fold_limit_merged(const struct fold_key *key);

#endif
