/* Launch stacks of one process that came by its probe, until their launches come by its ring: the join of both by
 * thread and correlation id. A launch is in the ring only after its probe has fired, so whoever reads the ring's
 * counters first and the kernel's events then has the stack of every launch, or it was lost. Single-threaded: only the
 * agent loop calls it. */
#ifndef PROBE_STACKS_H
#define PROBE_STACKS_H

#include <stdint.h>

#define PROBE_STACKS_NONE 0u
#define PROBE_STACKS_FULL UINT32_MAX
#define PROBE_STACKS_WAITING_MAX                                                                   \
	(1u << 18) /* stacks whose launches have not come; then the oldest are given up */

struct probe_stacks;

/* NULL: out of memory. */
struct probe_stacks *probe_stacks_create(void);
void probe_stacks_destroy(struct probe_stacks *stacks); /* accepts NULL */

/* addresses: of the process, leaf first; other addresses end the stack. code_pages: another number, and the same
 * addresses may be something else. An earlier stack that waits under the same thread and id is given up. 0 or
 * -ENOMEM. */
int probe_stacks_put(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id,
		     const uint64_t *addresses, uint32_t depth, uint32_t code_pages);

/* The launch has come. Its stack's number, equal ones have the same: from 1, without gaps, RECORD_STACKS_MAX at most.
 * PROBE_STACKS_NONE: there is none; PROBE_STACKS_FULL: there were more different ones. */
uint32_t probe_stacks_take(struct probe_stacks *stacks, uint32_t tid, uint32_t correlation_id);

/* A stack's words (stack_word.h), leaf first, *depth of them; borrowed until the next probe_stacks_put(). number: as
 * taken, from 1. */
const uint64_t *probe_stacks_words(const struct probe_stacks *stacks, uint32_t number,
				   uint32_t *depth);

/* How many wait. */
uint32_t probe_stacks_waiting(const struct probe_stacks *stacks);

#endif
