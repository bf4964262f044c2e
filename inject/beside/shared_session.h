/* Lends the guest's activity records to another profiler for the time of its session. Only objects whose calls the
 * guest sees are served (shared_objects.h). CUPTI's activity API belongs to the process: the user that registers
 * callbacks gets all records, and a kind is on or off for all users. The guest lends its records when a session begins,
 * and takes them back when it is over. Without these calls, activity_watch.h can only guess.
 *
 * A session begins when the profiler registers callbacks, or when it enables kinds again for the callbacks of its last
 * session. It is over once all its kinds are disabled and CUPTI was flushed afterwards, because that flush brings its
 * last records. Without a flush it is over two seconds later. A profiler that gives CUPTI another clock is about to
 * begin a session. The guest first fetches the records that CUPTI made by the system's clock.
 *
 * "Slot functions" run on any thread of the application. There is no lock. */
#ifndef SHARED_SESSION_H
#define SHARED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import_slots.h"

#define SHARED_SESSION_SLOTS 5u

struct cupti_library;

/* What the guest does about a session. The functions run on the application's thread that made the call. */
struct shared_session_parts {
	/* Called before a session begins or CUPTI's clock changes: fetches the guest's records that CUPTI holds. */
	void (*lend)(void);
	/* Called when a session is over: fetches soon. */
	void (*flush_soon)(void);
};

/* Sets the functions above. Call it once, before all other functions here. *parts is copied. */
void shared_session_init(const struct shared_session_parts *parts);

/* Fills the slots with functions that replace CUPTI's. *library is borrowed for good. */
void shared_session_slots(const struct cupti_library *library,
			  struct import_slot slots[static SHARED_SESSION_SLOTS]);

/* These three tell of the other profiler's session. Any thread may call. */
bool shared_session_is_on(void);
/* its session is on, or the guest has not yet registered its own again */
bool shared_session_has_callbacks(void);
bool shared_session_has_kind(uint32_t kind); /* the session has enabled this kind */

/* Calls cuptiActivityFlushAll() for the guest, but does nothing while a session is on. Otherwise the profiler would be
 * given buffers before it asks for them. PyTorch's profiler would then ask for none (Kineto's
 * CuptiActivityApi::activityBuffers()), and its session would have no record. */
void shared_session_flush(const struct cupti_library *library, uint32_t flag);

/* Call it after the guest has registered its own callbacks, which replace all others. */
void shared_session_take_back(void);

/* Call it after CUPTI was ended, which ends all registrations. */
void shared_session_reset(void);

#endif
