/* Interns call stacks: equal frames get one stack_id, whose body is in the ring before anybody can
 * see the id. Lock-free and insert-only: any number of threads intern at once, each with its own
 * cache. The guest's atomics are here and in the state words of launches, buffers and lifecycle. */
#ifndef STACK_TABLE_H
#define STACK_TABLE_H

#include <stdint.h>

#include "proto/record.h"

#define STACK_CACHE_ENTRIES 1024u

struct record_ring;
struct stack_table;

/* One thread's most recent stacks. Zeroed: empty. */
struct stack_cache {
	struct {
		uint64_t hash;
		uint32_t stack_id;
	} entries[STACK_CACHE_ENTRIES];
};

/* Bodies go to the ring, which is borrowed until stack_table_destroy(). mmap, not malloc. NULL: out
 * of memory. The caller owns the table; stack_table_destroy() accepts NULL. */
struct stack_table *stack_table_create(struct record_ring *ring);
void stack_table_destroy(struct stack_table *table);

/* The id of the stack with these keys: one a frame, equal for equal frames, leaf first. The cache is
 * the calling thread's. Equality is that of a 64-bit hash: neither keys nor bodies are compared.
 * RECORD_STACK_NONE: it is new, or nr is 0. *hash is for stack_table_add(). */
uint32_t stack_table_find(struct stack_table *table, struct stack_cache *cache,
			  const uint64_t *keys, uint32_t nr, uint64_t *hash);

/* Enters a stack that stack_table_find() did not know, with its body: words of stack_word.h,
 * 1 <= nr <= RECORD_STACK_DEPTH. Should another thread have been faster, the result is its id.
 * RECORD_STACK_NONE: no room for another stack. */
uint32_t stack_table_add(struct stack_table *table, struct stack_cache *cache, uint64_t hash,
			 const uint64_t *words, uint32_t nr);

/* From now on stacks are new, even with frames seen before: other code lies at some of their
 * addresses. Any thread. */
void stack_table_new_epoch(struct stack_table *table);

/* The hash, for tests and figures. */
uint64_t stack_table_hash(const uint64_t *keys, uint32_t nr);

#endif
