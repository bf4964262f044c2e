/* Knows the launches that the GPU may still be working on: those whose record has not come back. The guest asks before
 * it leaves CUPTI. Leaving waits for all work, and would wait for ever for a kernel that needs this very thread.
 * Launches are tracked only if windows can end; a launch then costs two bits. The table is by correlation id modulo
 * 2^20, so an old launch that never came back counts for a newer one. Any thread may call; lock-free, no allocation. */
#ifndef OUTSTANDING_LAUNCHES_H
#define OUTSTANDING_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* Forgets all launches. No thread may be at a launch. */
void outstanding_launches_reset(void);

/* Forgets the launches that are done, so that no later one with the same number is taken for them. Between windows. */
void outstanding_launches_forget_done(void);

/* Notes that a launch begins. outside: it is after the window's end, so its record is not wanted. */
void outstanding_launches_begin(uint32_t correlation_id, bool outside);

/* Notes work that its first record does not complete: a graph, a batch, a host function. It is done when a thread has
 * waited for its stream, or for all of the context. stream: CUstream, NULL: not known, or the default stream of some
 * thread. */
void outstanding_launches_begin_many(uint32_t correlation_id, bool outside, const void *stream,
				     uint64_t now_ns);

/* Notes that launches may have been made until now_ns (CLOCK_MONOTONIC) that were not tracked. They are done when a
 * thread has waited for all of the only context. Only one thread at a time may be in this function or
 * outstanding_launches_context_waited(). */
void outstanding_launches_begin_unknown(uint64_t now_ns);
bool outstanding_launches_has_unknown(void);

/* Tells that the window's launches were not tracked until now, and that their records are wanted. It holds until
 * one of the two functions above. */
void outstanding_launches_begin_late(void);

/* Notes that a launch leads to no work of its own that is wanted: it failed, went into a graph, or is not recorded. */
void outstanding_launches_cancel(uint32_t correlation_id);

/* Returns whether the launch began and is not yet done. */
bool outstanding_launches_is_pending(uint32_t correlation_id);

/* Returns whether the launch began after the window's end. */
bool outstanding_launches_is_outside(uint32_t correlation_id);

/* Notes that a launch's finished record came. Returns false if the record is not wanted, because the launch was before
 * or after the window. */
bool outstanding_launches_record(uint32_t correlation_id);

/* Note that a thread has waited from since_ns (CLOCK_MONOTONIC) until now: for this stream, or for the only context.
 * Two waits for the context in a row also clear launches of which no record ever comes (copies of 0 bytes). One thread
 * at a time may call. */
void outstanding_launches_stream_waited(const void *stream, uint64_t since_ns);
void outstanding_launches_context_waited(uint64_t since_ns, uint64_t now_ns);

/* Notes that the launch's work went into a graph, if windows are wanted. Callbacks call it. */
void outstanding_launches_captured(uint32_t correlation_id);

/* Notes a finished record of work in that context, unless it is of a graph's node or the like. Returns whether it
 * belongs to the window. CUPTI's thread calls it. */
bool outstanding_launches_wants(uint32_t correlation_id, uint32_t context_id);

/* Returns the number of outstanding launches. */
uint32_t outstanding_launches_count(void);

/* Returns whether a launch that is outstanding was already so at the last call. Such a launch lasts, and may be waiting
 * for the host. One thread at a time may call. */
bool outstanding_launches_last(void);

#endif
