/* Collects the collective calls of a watched process (bpf/collective_event.h) until they are sent, and gives its
 * communicators their ids. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_COLLECTIVES_H
#define WATCHED_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_event.h"
#include "node-agent/kernel/kernel_clock.h"

#define WATCHED_COLLECTIVES_MAX 8192u /* calls in one message */

struct message;
struct watched_collectives;

/* Returns whether the event is a collective call or a communicator. */
bool watched_collectives_has(const struct sample_event *event);

/* Creates an empty collection; NULL: out of memory. destroy() accepts NULL. */
struct watched_collectives *watched_collectives_create(void);
void watched_collectives_destroy(struct watched_collectives *collectives);

/* Adds the event, whose stack is known by now. clock: our clock against the event's. 0 or -ENOMEM. */
int watched_collectives_add(struct watched_collectives *collectives,
			    const struct sample_event *event, const struct kernel_clock *clock,
			    uint32_t stack_id);

/* Says that another program runs in the process: its communicators are new, and ids continue. */
void watched_collectives_forget(struct watched_collectives *collectives);

/* Returns how many calls and communicators wait. */
uint32_t watched_collectives_count(const struct watched_collectives *collectives);

/* Fills in a message with everything that waits, but without its process; after it nothing waits. Borrowed until the
 * next add. */
void watched_collectives_take(struct watched_collectives *collectives, struct message *message);

/* Returns the number of calls taken so far. */
uint64_t watched_collectives_received(const struct watched_collectives *collectives);

#endif
