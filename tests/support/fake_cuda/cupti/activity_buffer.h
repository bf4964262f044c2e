/* The application's activity buffers: requested on launching threads, filled, and completed by a
 * worker thread, for which a flush waits. A buffer is complete when all operations whose records it
 * holds have ended on the device clock. */
#ifndef ACTIVITY_BUFFER_H
#define ACTIVITY_BUFFER_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_trace.h"

/* NULL, NULL: no buffers from now on. */
void activity_buffer_set_callbacks(CUpti_BuffersCallbackRequestFunc request,
				   CUpti_BuffersCallbackCompleteFunc complete);

/* Each thread its own buffer (the default), or all threads one. */
void activity_buffer_set_per_thread(bool per_thread);

/* An operation without a row is none of the truth's: a resource. Copies the record into the calling thread's buffer,
 * asking the application for one where needed. zeroed: the record carries no times on purpose. false: no room was
 * given, nothing was written. */
bool activity_buffer_append(const void *record, size_t size, const struct sim_operation *operation,
			    bool zeroed);

/* Returns when the worker has handed the completed buffers to the application. forced: also those
 * with operations that still run, whose records then end at 0 and never come again. */
void activity_buffer_flush(bool forced);

/* Forgets every buffer that was not completed; the application does not get them back. */
void activity_buffer_forget(void);

#endif
