/* Tells when a context's work has ended, without waiting for it: an event is recorded behind all work of the context
 * (cuCtxRecordEvent, driver 555 and later), and queried. Neither call waits for the GPU. Each breaks a capture that any
 * stream of the context is in (cuda.h), so the caller sees to it by its lock that no thread captures. One thread at a
 * time, inside CUPTI's callbacks, too; the calls are not recorded as the program's. Where synchronizing calls are
 * recorded (--record sync), CUPTI has a record of the query that found the end, some µs long, without a stack. */
#ifndef IDLE_CONTEXT_H
#define IDLE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Forgets all, and looks for the driver's functions. */
void idle_context_init(void);

/* Marks the work that the context, the thread's current one, has until now. Each device has one mark; the event of
 * another context's lives until that context ends. Returns false if
 * the driver cannot, for good. */
bool idle_context_mark(uint32_t device_id, void *context);

/* The context is about to be destroyed, and its event with it. Any thread, without the lock: what waits for the
 * context's work elsewhere ends its wait. */
void idle_context_forget(const void *context);

enum idle_context_state {
	IDLE_CONTEXT_ENDED,
	IDLE_CONTEXT_WORKS,
	IDLE_CONTEXT_UNKNOWN, /* an error, or there is no mark */
};

/* Returns the state of the work that was marked last. */
enum idle_context_state idle_context_state(uint32_t device_id);

#endif
