/* A second subscriber beside the guest. CUPTI knows one in a process, and refuses the next; Kineto, PyTorch's profiler,
 * then records no GPU work for the process's life, though what it needs of a subscription is to be told of contexts:
 * its records come by the activity API, which has no owner. So objects that import CUPTI's subscription functions are
 * given the guest's in their place (shared_objects.h). Those call CUPTI, and where it refuses because of the guest,
 * hand out a handle of the guest's own: callbacks of the resource and state domains that are enabled with it are
 * CUPTI's for the guest's subscription, and passed on. All other domains are refused.
 *
 * "Slot functions" run on any thread of the application at any time, within CUPTI's callbacks, too, and for as long as
 * the process lives. No lock: they and the guest may be inside each other's calls of CUPTI. */
#ifndef SHARED_SUBSCRIBER_H
#define SHARED_SUBSCRIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "import_slots.h"

#include "inject/cupti/cupti_abi.h"

#define SHARED_SUBSCRIBER_SLOTS 7u

struct cupti_library;

/* What the guest does while another user ends CUPTI, on that user's thread, in this order (capture_window.h). */
struct shared_subscriber_parts {
	bool (*yield)(void);
	void (*fetch)(void); /* only where yield() returned true */
	void (*yielded)(bool locked, bool ended);
};

/* Once, before the others. *parts is copied. */
void shared_subscriber_init(const struct shared_subscriber_parts *parts);

/* ---- the guest's subscription; calls of different threads exclude one another */

/* It was made: the second subscriber's callbacks are enabled with it. *library is borrowed for good. */
void shared_subscriber_held(const struct cupti_library *library, void *subscriber);

/* The guest is about to leave CUPTI and to come back. false: there is a second subscriber, whose session would end.
 * Until shared_subscriber_left() who subscribes waits. */
bool shared_subscriber_leave(void);
void shared_subscriber_left(bool left);

/* It is gone for good, or another has it. */
void shared_subscriber_lost(void);

/* Enables or disables a callback of the guest's own, of the resource or state domain. Any thread. A CUptiResult. */
int shared_subscriber_enable(uint32_t enable, uint32_t domain, uint32_t cbid);

/* ---- any thread */

bool shared_subscriber_is_there(void);

/* Within CUPTI's callback of the resource or state domain: whether the guest itself enabled it, and the second
 * subscriber's turn. */
bool shared_subscriber_is_ours(uint32_t domain, uint32_t cbid);
void shared_subscriber_forward(uint32_t domain, uint32_t cbid, const void *data);

/* Slot functions in the place of CUPTI's, once the guest has held the subscription. */
void shared_subscriber_slots(const struct cupti_library *library,
			     struct import_slot slots[static SHARED_SUBSCRIBER_SLOTS]);

/* Where the last that was given a handle asked for it: an address in its code. 0: nobody has. */
uintptr_t shared_subscriber_caller(void);

#endif
