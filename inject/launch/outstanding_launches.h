/* Which launches the GPU may still be working on: those whose record has not come back. Asked before CUPTI is left,
 * which waits for all work and would wait for ever for a kernel that needs this very thread. Tracked only where windows
 * can end; a launch costs two bits then. By correlation id, modulo 2^20: an older launch that never came back counts
 * for the newer one. Any thread; lock-free, no allocation. */
#ifndef OUTSTANDING_LAUNCHES_H
#define OUTSTANDING_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is outstanding. No thread may be at a launch. */
void outstanding_launches_reset(void);

/* A launch begins. outside: after the window's end, so that its record is not wanted. */
void outstanding_launches_begin(uint32_t correlation_id, bool outside);

/* Work of which no first record tells that it is done (a graph, a batch, a host function): done when its stream, or all
 * of the context, was waited for. stream: CUstream, NULL: not known, or the default stream of some thread. */
void outstanding_launches_begin_many(uint32_t correlation_id, bool outside, const void *stream,
				     uint64_t now_ns);

/* Launches may have been made until now_ns (CLOCK_MONOTONIC) that were not tracked: they are done when all of the only
 * context was waited for. One thread at a time with outstanding_launches_context_waited(). */
void outstanding_launches_begin_unknown(uint64_t now_ns);
bool outstanding_launches_has_unknown(void);

/* The window's launches were not tracked until now: their records are wanted. Until outstanding_launches_reset(). */
void outstanding_launches_begin_late(void);

/* Nothing came of it: it failed, or went into a graph. */
void outstanding_launches_cancel(uint32_t correlation_id);

/* Begun, and not yet done. */
bool outstanding_launches_is_pending(uint32_t correlation_id);

/* Whether the launch began after the window's end. */
bool outstanding_launches_is_outside(uint32_t correlation_id);

/* A finished record of it came. false: it is not wanted, the launch was before or after the window. */
bool outstanding_launches_record(uint32_t correlation_id);

/* Somebody has waited, from since_ns (CLOCK_MONOTONIC) until now, for this stream; for the only context. Waiting for
 * the context twice in a row also clears launches of which no record ever comes (copies of 0 bytes). One thread at a
 * time. */
void outstanding_launches_stream_waited(const void *stream, uint64_t since_ns);
void outstanding_launches_context_waited(uint64_t since_ns, uint64_t now_ns);

/* Callback: the work of the launch went into a graph, wherever windows are wanted. */
void outstanding_launches_captured(uint32_t correlation_id);

/* CUPTI's thread: a finished record came, not of a graph's node or the like, of work in that context. Returns whether
 * it belongs to the window. */
bool outstanding_launches_wants(uint32_t correlation_id, uint32_t context_id);

uint32_t outstanding_launches_count(void);

/* Whether a launch that is outstanding was so at the last call already; then it lasts, and may be waiting for the host.
 * One thread at a time. */
bool outstanding_launches_last(void);

#endif
