/* Interns call stacks: equal frames get one stack_id. It is found by its keys. A new stack is also found by its body,
 * since other keys may stand for the same one: a program that compiles and executes one text again and again has new
 * keys each time. A stack's body is in the ring before any reader can see its id. The table is lock-free, and stacks
 * are only added. Any number of threads may intern at once, each with its own cache. The guest has atomics here and in
 * the state words of launches, buffers and lifecycle. */
#ifndef STACK_TABLE_H
#define STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

#define STACK_CACHE_ENTRIES 1024u

/* Beside the keys of a stack's first occurrence the table has room for so many bodies, and for so many other keys. */
#define STACK_TABLE_BODIES 65536u
#define STACK_TABLE_OTHERS 65536u

struct record_ring;
struct stack_table;

/* One thread's most recent stacks. A zeroed cache is empty. */
struct stack_cache {
	uint32_t epoch; /* at the last stack_table_find() */
	bool in_place;  /* the last stack had a frame where code was unloaded */
	struct {
		uint64_t hash;
		uint32_t stack_id;
	} entries[STACK_CACHE_ENTRIES];
};

/* Creates a table with mmap, not malloc. Bodies go to the ring, which is borrowed until stack_table_destroy(). NULL:
 * out of memory. The caller owns the table; stack_table_destroy() accepts NULL. */
struct stack_table *stack_table_create(struct record_ring *ring);
void stack_table_destroy(struct stack_table *table);

/* Returns the id of the stack with these keys. There is one key per frame, leaf first; equal frames have equal keys.
 * The cache belongs to the calling thread. Two stacks count as equal if their 64-bit hashes are equal; keys and bodies
 * are not compared. RECORD_STACK_NONE: the stack is new, or nr is 0. *hash is for stack_table_add(). */
uint32_t stack_table_find(struct stack_table *table, struct stack_cache *cache,
			  const uint64_t *keys, uint32_t nr, uint64_t *hash);

/* Enters a stack that the last stack_table_find() with this cache did not know, with its body: words of stack_word.h, 1
 * <= nr <= RECORD_STACK_DEPTH. Returns its id. If there is a stack with this body already, or another thread has
 * entered the same stack first, returns that one's id. Beyond STACK_TABLE_BODIES equal bodies may have several ids.
 * RECORD_STACK_NONE: there is no room for another stack. */
uint32_t stack_table_add(struct stack_table *table, struct stack_cache *cache, uint64_t hash,
			 const uint64_t *words, uint32_t nr);

/* Code was unloaded from these addresses (end exclusive). Stacks with frames there are new from now on; others keep
 * their ids. One thread calls this and stack_table_loaded(). */
void stack_table_unloaded(struct stack_table *table, uint64_t start, uint64_t end);

/* The code of this identity lies at these addresses from now on. If code was unloaded there before, stacks with frames
 * there have the ids that they had while this code lay there after an unloading, and else new ones. */
void stack_table_loaded(struct stack_table *table, uint64_t start, uint64_t end, uint64_t identity);

/* Returns whether code was unloaded from all of these addresses before. For the thread that calls the two above. */
bool stack_table_is_place(const struct stack_table *table, uint64_t start, uint64_t end);

/* Returns how many stacks with a frame where code was unloaded were looked up so far. Any thread may call. */
uint64_t stack_table_in_places(const struct stack_table *table);

/* Returns a number that changes with the first two. An id is that of its stack in the epoch in which it was looked up,
 * and may not be in later ones. Any thread may call. */
uint32_t stack_table_epoch(const struct stack_table *table);

/* Returns the hash of these keys, for tests and measurements. */
uint64_t stack_table_hash(const uint64_t *keys, uint32_t nr);

#endif
