/* Limits the different rows of a process. Every row stays in the store for ever. A hostile process can make one with
 * each record, by streams, threads and devices that do not exist. Beyond the limit rows are merged. The rows are a set
 * of 32-bit hashes, so a few new rows in 2^18 count as known, which does no harm. One limit is used by one thread. */
#ifndef FOLD_LIMIT_H
#define FOLD_LIMIT_H

#include <stdbool.h>

#include "fold_table.h"

#include "base/hash_index.h"

#define FOLD_LIMIT_ROWS_MAX 262144u

/* Embedded; zeroed memory knows no row. */
struct fold_limit {
	struct hash_index rows;
};

void fold_limit_fini(struct fold_limit *limit);

/* *has_room: the process has a row with a key of this hash (fold_table_hash()), or may have one more. 0 or -ENOMEM. */
int fold_limit_take(struct fold_limit *limit, uint32_t hash, bool *has_room);

/* Fetches into the processor's cache what fold_limit_take() reads. Changes nothing. */
void fold_limit_prefetch(const struct fold_limit *limit, const uint32_t *hashes, uint32_t count);

/* Returns whether some keys have no room. Until then every row that the table has was taken. */
bool fold_limit_is_reached(const struct fold_limit *limit);

/* The merged row for a row without room: it has the same process, device (if the process has such a device), kind and
 * match, and no stack, name, stream and thread. */
struct fold_key fold_limit_merged(const struct fold_key *key);

#endif
