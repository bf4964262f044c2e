/* Exact totals: GPU activities, or samples of host threads, with equal keys become one row of count, nanoseconds and
 * bytes. Pure; one table is used by one thread. */
#ifndef FOLD_TABLE_H
#define FOLD_TABLE_H

#include <stdint.h>

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

/* Sums stick at UINT64_MAX instead of wrapping. */
struct fold_row {
	struct fold_key key;
	uint64_t count, ns, bytes;
};

struct fold_table;

/* NULL: out of memory. fold_table_destroy() accepts NULL. */
struct fold_table *fold_table_create(void);
void fold_table_destroy(struct fold_table *table);

/* Adds count activities that took ns and moved bytes together. 0, or -ENOMEM: the table is
 * unchanged. */
int fold_table_add(struct fold_table *table, const struct fold_key *key, uint64_t count,
		   uint64_t ns, uint64_t bytes);

/* fold_table_add() in steps, for callers that need the hash for more. find() returns the key's row; NULL: there is
 * none, and append() may make it. append() returns NULL: out of memory, the table is unchanged. Rows are borrowed until
 * the next append, add or clear. */
uint32_t fold_table_hash(const struct fold_key *key);
struct fold_row *fold_table_find(const struct fold_table *table, const struct fold_key *key,
				 uint32_t hash);
struct fold_row *fold_table_append(struct fold_table *table, const struct fold_key *key,
				   uint32_t hash);
void fold_row_add(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes);

/* Fetch the keys' rows into the processor's cache, so that a lookup soon after does not wait for memory. Changes
 * nothing. */
void fold_table_prefetch(const struct fold_table *table, const uint32_t *hashes, uint32_t count);

/* Returns all rows in the order of their first appearance. Borrowed until the next add or clear. */
const struct fold_row *fold_table_rows(const struct fold_table *table, uint32_t *nr_rows);

/* Forgets all rows and keeps the memory for the next ones. */
void fold_table_clear(struct fold_table *table);

#endif
