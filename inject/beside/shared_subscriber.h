/* Lets a second profiler subscribe to CUPTI beside the guest. CUPTI has one subscriber in a process and refuses the
 * next. Kineto, PyTorch's profiler, would then record no GPU work for the life of the process. Yet Kineto needs its
 * subscription only to learn of contexts: its records come by the activity API, which has no owner. So objects that
 * import CUPTI's subscription functions get the guest's functions instead (shared_objects.h).
 *
 * These functions call CUPTI. If CUPTI refuses because of the guest, they hand out a handle of the guest's own.
 * Callbacks of the resource and state domains that are enabled with this handle are enabled for the guest's
 * subscription, and passed on. All other domains are refused.
 *
 * "Slot functions" run on any thread of the application at any time, also within CUPTI's callbacks, and for the life of
 * the process. There is no lock, because these functions and the guest may be inside each other's calls of CUPTI. */
#ifndef SHARED_SUBSCRIBER_H
#define SHARED_SUBSCRIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "import_slots.h"

#include "inject/cupti/cupti_abi.h"

#define SHARED_SUBSCRIBER_SLOTS 7u

struct cupti_library;

/* What the guest does while another user ends CUPTI. The functions run on that user's thread, in this order
 * (capture_window.h). */
struct shared_subscriber_parts {
	bool (*yield)(void);
	void (*fetch)(void); /* only if yield() returned true */
	void (*yielded)(bool locked, bool ended);
};

/* Sets the functions above. Call it once, before all other functions here. *parts is copied. */
void shared_subscriber_init(const struct shared_subscriber_parts *parts);

/* ---- the guest's subscription; only one thread at a time may be in these functions */

/* Tells that the guest has subscribed, and enables the second subscriber's callbacks with that subscription. *library
 * is borrowed for good. */
void shared_subscriber_held(const struct cupti_library *library, void *subscriber);

/* Tells that the guest is about to leave CUPTI and to come back. Returns false if there is a second subscriber, whose
 * session would end. Calls that subscribe wait until shared_subscriber_left(). */
bool shared_subscriber_leave(void);
void shared_subscriber_left(bool left);

/* Tells that the guest's subscription is gone for good, or that another user has it. */
void shared_subscriber_lost(void);

/* Enables or disables one of the guest's own callbacks, of the resource or state domain. Any thread may call. Returns a
 * CUptiResult. */
int shared_subscriber_enable(uint32_t enable, uint32_t domain, uint32_t cbid);

/* ---- any thread */

bool shared_subscriber_is_there(void);

/* Call these within CUPTI's callback of the resource or state domain. The first returns whether the guest itself
 * enabled it. The second passes it on to the second subscriber. */
bool shared_subscriber_is_ours(uint32_t domain, uint32_t cbid);
void shared_subscriber_forward(uint32_t domain, uint32_t cbid, const void *data);

/* Fills the slots with functions that replace CUPTI's. Call it once the guest has held the subscription. */
void shared_subscriber_slots(const struct cupti_library *library,
			     struct import_slot slots[static SHARED_SUBSCRIBER_SLOTS]);

/* Returns an address in the code that was last given a handle. 0: none was given. */
uintptr_t shared_subscriber_caller(void);

#endif
