/* Interns call stacks: equal frames get one stack_id, whose body is in the ring before anybody can
 * see the id. Lock-free and insert-only: any number of threads intern at once, each with its own
 * cache. The guest's atomics are here and in the state words of launches, buffers and lifecycle. */
#ifndef STACK_TABLE_H
#define STACK_TABLE_H

#include <stdint.h>

#include "proto/record.h"

#define STACK_CACHE_ENTRIES 1024u

struct code_ranges;
struct record_ring;
struct stack_table;

/* One thread's most recent stacks. Zeroed: empty. */
struct stack_cache {
	struct {
		uint64_t hash;
		uint32_t stack_id;
	} entries[STACK_CACHE_ENTRIES];
};

/* Bodies go to the ring; a stack that is new is first trimmed by code (NULL: never). Both are
 * borrowed until stack_table_destroy(). mmap, not malloc. NULL: out of memory.
 * The caller owns the table; stack_table_destroy() accepts NULL. */
struct stack_table *stack_table_create(struct record_ring *ring, const struct code_ranges *code);
void stack_table_destroy(struct stack_table *table);

/* The id of the stack frames[0..depth), leaf first, 1 <= depth <= RECORD_STACK_DEPTH. The cache is
 * the calling thread's. Stacks that are equal once trimmed are equal. RECORD_STACK_NONE: no room
 * for another stack (counting is the caller's), or depth 0. Equality is that of a 64-bit hash:
 * bodies are not compared. */
uint32_t stack_table_intern(struct stack_table *table, struct stack_cache *cache,
			    const uint64_t *frames, uint32_t depth);

/* From now on stacks are new, even with frames seen before: other code lies at some of their
 * addresses. Any thread. */
void stack_table_new_epoch(struct stack_table *table);

/* The hash, for tests and figures. */
uint64_t stack_table_hash(const uint64_t *frames, uint32_t depth);

#endif
