/* The collective calls of a watched process (bpf/collective_event.h), as they wait to be sent, and its communicators'
 * ids. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_COLLECTIVES_H
#define WATCHED_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_event.h"
#include "node-agent/kernel/kernel_clock.h"

#define WATCHED_COLLECTIVES_MAX 8192u /* in one message */

struct message;
struct watched_collectives;

/* Whether the event is one of these. */
bool watched_collectives_has(const struct sample_event *event);

/* NULL: out of memory. destroy() accepts NULL. */
struct watched_collectives *watched_collectives_create(void);
void watched_collectives_destroy(struct watched_collectives *collectives);

/* Takes the event, whose stack is known by now; the clock is how ours stands to the event's. 0 or -ENOMEM. */
int watched_collectives_add(struct watched_collectives *collectives,
			    const struct sample_event *event, const struct kernel_clock *clock,
			    uint32_t stack_id);

/* Another program runs in the process: communicators begin anew, their ids go on. */
void watched_collectives_forget(struct watched_collectives *collectives);

/* Calls and communicators that wait, so many. */
uint32_t watched_collectives_count(const struct watched_collectives *collectives);

/* What waits, as a message but for its process; nothing waits any more. Borrowed until the next add. */
void watched_collectives_take(struct watched_collectives *collectives, struct message *message);

/* Calls taken so far. */
uint64_t watched_collectives_received(const struct watched_collectives *collectives);

#endif
