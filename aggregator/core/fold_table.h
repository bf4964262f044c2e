/* Exact totals: GPU activities, or samples of host threads, with equal keys become one row of count, nanoseconds and
 * bytes, and of GPU activities a histogram of their durations. Pure; one table is used by one thread. */
#ifndef FOLD_TABLE_H
#define FOLD_TABLE_H

#include <stdint.h>

#include "duration_bins.h"

/* Every byte counts for equality, so fill it from a zeroed struct. Ids are of the caller's scope. */
struct fold_key {
	uint32_t process_id;
	uint32_t device_id; /* CUDA ordinal in its process */
	uint32_t context_id, stream_id;
	uint32_t tid;              /* launching thread; 0: not known */
	uint32_t stack_id;         /* RECORD_STACK_NONE: none captured, or no launch */
	uint32_t capture_stack_id; /* of the graph's node; RECORD_STACK_NONE: none, or not known */
	uint32_t name_id;          /* RECORD_NAME_NONE: none */
	uint8_t kind;              /* enum record_gpu_kind */
	uint8_t copy_kind;
	uint8_t matched;  /* 1: a launch was found */
	uint8_t reserved; /* 0 */
};

#define FOLD_NEAR 8u
/* fold_row.near_first, in place of a histogram: it is not known; it was damaged, or is a sum with one that was */
#define FOLD_NEAR_NONE    DURATION_BUCKETS
#define FOLD_NEAR_DAMAGED (DURATION_BUCKETS + 1u)

/* Sums stick at UINT64_MAX instead of wrapping. The histogram has `count` durations. Those of neighbouring buckets are
 * counted in the row, because most rows have no others, and a look elsewhere waits for memory. Where such a count would
 * wrap, it moves to bins. */
struct fold_row {
	struct fold_key key;
	uint32_t near_first; /* the bucket of near[0]; or as above, from FOLD_NEAR_NONE on */
	uint64_t count, ns, bytes;
	uint8_t near[FOLD_NEAR];
	struct duration_bins bins; /* durations that near has not */
};

struct fold_table;

/* NULL: out of memory. fold_table_destroy() accepts NULL. */
struct fold_table *fold_table_create(void);
void fold_table_destroy(struct fold_table *table);

/* Adds count activities that took ns and moved bytes together, and of which no histogram is known: afterwards none of
 * the row is. 0, or -ENOMEM: the table is unchanged. */
int fold_table_add(struct fold_table *table, const struct fold_key *key, uint64_t count,
		   uint64_t ns, uint64_t bytes);

/* Adds another table's row, with its histogram, to the row of its key. Of a count above INT64_MAX no histogram is
 * known. 0, or -ENOMEM: the table is not exact any more. */
int fold_table_join(struct fold_table *table, const struct fold_row *row);

/* fold_table_add() in steps, for callers that need the hash for more. find() returns the key's row; NULL: there is
 * none, and append() may make it. append() returns NULL: out of memory, the table is unchanged. Rows are borrowed until
 * the next append, add or clear. */
uint32_t fold_table_hash(const struct fold_key *key);
struct fold_row *fold_table_find(const struct fold_table *table, const struct fold_key *key,
				 uint32_t hash);
struct fold_row *fold_table_append(struct fold_table *table, const struct fold_key *key,
				   uint32_t hash);
void fold_row_add(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes);

/* Adds one activity, with its place in the histogram. 0; -ENOMEM: unchanged. */
int fold_row_add_one(struct fold_row *row, uint64_t ns, uint64_t bytes);

/* Fills list, which has room for DURATION_BUCKETS, with the row's histogram. Returns the number of bins; 0: it is not
 * known, or empty. */
uint32_t fold_row_list(const struct fold_row *row, struct duration_bin *list);

/* Gives the row this histogram of nr bins, whose counts are the row's count together. It is damaged if nr is 0, or if
 * such durations cannot take the row's ns. 0; -ENOMEM: the row has none. */
int fold_row_set(struct fold_row *row, const struct duration_bin *list, uint32_t nr);

/* Adds count activities with this histogram of nr bins, which has just so many, to a row of a table. 0; -ENOMEM: the
 * row is not exact any more. */
int fold_row_add_list(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes,
		      const struct duration_bin *list, uint32_t nr);

/* Frees what a row owns that is in no table. */
void fold_row_fini(struct fold_row *row);

/* Fetch the keys' rows into the processor's cache, so that a lookup soon after does not wait for memory. Changes
 * nothing. */
void fold_table_prefetch(const struct fold_table *table, const uint32_t *hashes, uint32_t count);

/* Returns all rows in the order of their first appearance. Borrowed until the next add or clear. */
const struct fold_row *fold_table_rows(const struct fold_table *table, uint32_t *nr_rows);

/* The row with this index, which is below their number. Borrowed as that of find(). */
struct fold_row *fold_table_row(struct fold_table *table, uint32_t index);

/* Forgets all rows and keeps the memory for the next ones. */
void fold_table_clear(struct fold_table *table);

#endif
