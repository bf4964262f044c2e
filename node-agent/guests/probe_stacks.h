/* Joins launch stacks from one process's probe with the launches from its ring, by thread and correlation id. Stacks
 * wait here until their launches come. A launch enters the ring only after its probe has fired. So a caller that reads
 * the ring's counters first, and the kernel's events then, finds the stack of every launch, unless it was lost.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROBE_STACKS_H
#define PROBE_STACKS_H

#include <stdint.h>

#define PROBE_STACKS_NONE 0u
#define PROBE_STACKS_FULL UINT32_MAX
/* limit of stacks whose launches have not come; beyond it the oldest are given up */
#define PROBE_STACKS_WAITING_MAX (1u << 18)

struct probe_stacks;

/* Creates an empty join; NULL: out of memory. */
struct probe_stacks *probe_stacks_create(void);
void probe_stacks_destroy(struct probe_stacks *stacks); /* accepts NULL */

/* Adds a stack of process addresses, leaf first; any other address ends it. The same addresses under another code_pages
 * may be another stack. An earlier stack that waits under the same thread and id is given up. 0 or -ENOMEM. */
int probe_stacks_put(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id,
		     const uint64_t *addresses, uint32_t depth, uint32_t code_pages);

/* Takes the stack of a launch that has come, and returns its number. Equal stacks have the same number, from 1, without
 * gaps, RECORD_STACKS_MAX at most. PROBE_STACKS_NONE: there is none; PROBE_STACKS_FULL: there were more different
 * stacks. */
uint32_t probe_stacks_take(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id);

/* Returns a stack's words (stack_word.h), leaf first, *depth of them; borrowed until the next probe_stacks_put().
 * number: from probe_stacks_take(), at least 1. */
const uint64_t *probe_stacks_words(const struct probe_stacks *stacks, uint32_t number,
				   uint32_t *depth);

/* Returns how many stacks wait for their launches. */
uint32_t probe_stacks_waiting(const struct probe_stacks *stacks);

#endif
