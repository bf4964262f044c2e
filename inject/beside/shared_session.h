/* Sessions of another user of CUPTI's activity API, in objects whose calls the guest sees (shared_objects.h). That API
 * belongs to the process: who registers callbacks has the records, and kinds are on or off for all. So the guest's
 * records are lent for as long as a session lasts, and taken back as soon as it is over; what activity_watch.h has to
 * guess is known here. A session begins when callbacks are registered, or kinds enabled again with those of before. It
 * is over once all kinds that were enabled are disabled and CUPTI was flushed afterwards, because that brings its last
 * records; or two seconds later. Who gives CUPTI another clock is about to begin one: what was recorded by the system's
 * is fetched before.
 *
 * "Slot functions" run on any thread of the application. No lock. */
#ifndef SHARED_SESSION_H
#define SHARED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import_slots.h"

#define SHARED_SESSION_SLOTS 5u

struct cupti_library;

/* What the guest does about such a session, on the thread of the application that calls. */
struct shared_session_parts {
	/* A session is about to begin, or another clock: fetches what CUPTI has of the guest's by now. */
	void (*lend)(void);
	/* A session is over: fetches soon. */
	void (*flush_soon)(void);
};

/* Once, before the others. *parts is copied. */
void shared_session_init(const struct shared_session_parts *parts);

/* Slot functions in the place of CUPTI's. *library is borrowed for good. */
void shared_session_slots(const struct cupti_library *library,
			  struct import_slot slots[static SHARED_SESSION_SLOTS]);

/* Any thread. */
bool shared_session_is_on(void);
bool shared_session_has_callbacks(void); /* its session is on, or they were not taken back yet */
bool shared_session_has_kind(uint32_t kind); /* is enabled by it */

/* The guest's own cuptiActivityFlushAll(), which does nothing while a session is on: its owner would be given buffers
 * before it asks for them. PyTorch's profiler then asks for none (Kineto's CuptiActivityApi::activityBuffers()), and
 * has a session without a record. */
void shared_session_flush(const struct cupti_library *library, uint32_t flag);

/* The guest's callbacks are registered, in the place of all others. */
void shared_session_take_back(void);

/* CUPTI was ended, all registrations with it. */
void shared_session_reset(void);

#endif
