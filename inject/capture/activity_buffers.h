/* Hands empty activity buffers to CUPTI, takes them back full, and turns their contents into gpu_records in the ring.
 * CUPTI calls on threads of its choice. All state that is not lock-free is behind the activity lock. There is one such
 * module per process, because CUPTI passes no user pointer. */
#ifndef ACTIVITY_BUFFERS_H
#define ACTIVITY_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

struct cupti_library;
struct definition_writer;
struct gpu_record;
struct graph_nodes;
struct guest_sizes;
struct record_ring;

/* Prepares for the two callbacks below. All pointers but sizes are borrowed for good. nodes knows the stacks of
 * graphs; it may be NULL. window is the window of the records, from 1. sizes says how much memory buffers and names
 * may take. Returns 0; -ENOMEM: CUPTI's activity must stay off. A second call replaces all that was borrowed
 * (tests). */
int activity_buffers_init(struct record_ring *ring, struct definition_writer *definitions,
			  const struct cupti_library *library, const struct graph_nodes *nodes,
			  uint16_t window, const struct guest_sizes *sizes);
void activity_buffers_fini(void);

/* Sets a function to be called when CUPTI holds so many buffers that only a flush brings enough of them back. `wake`
 * runs on any thread, inside CUPTI's callback. Call it once, after activity_buffers_init() and before CUPTI asks for
 * buffers. */
void activity_buffers_on_crowd(void (*wake)(void));

/* Gives CUPTI a buffer; pass it to cuptiActivityRegisterCallbacks(). When all buffers are out it gives a small one,
 * whose content is discarded and counted. It never gives NULL, because NULL crashes CUPTI before 12.9. */
void activity_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);

/* Takes a buffer back from CUPTI; pass it to cuptiActivityRegisterCallbacks(), too. Waits for room in the activity lane
 * up to 100 ms per buffer, but never on a thread that launches. Records that still do not fit are counted. */
void activity_buffers_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			       size_t valid_size);

/* Sets the window that records belong to from now on. Call it only between windows. */
void activity_buffers_set_window(uint16_t window);

/* Gives memory of the activity lane and of the buffers back once the lane rests (record_ring.h). The helper thread
 * calls it. */
void activity_buffers_trim(void);

/* Adds the number of records that CUPTI dropped to the ledger. The helper thread calls it, or the thread that leaves
 * CUPTI. */
void activity_buffers_count_dropped(void);

/* Frees the buffers that CUPTI did not give back. Call it after the guest has left CUPTI. */
void activity_buffers_reclaim(void);
/* Adds a record that the guest made itself, as if CUPTI had delivered it. Its times are valid. name: NULL, or a
 * kernel's name. Do not call it on the application's threads: it waits for the activity lock, and for room as above. */
void activity_buffers_put(const struct gpu_record *record, const char *name);
/* Defines the launch configurations that changed. last: those that find no room are counted as lost. The helper thread
 * calls it. */
void activity_buffers_define(bool last);

/* From now on, waits for room only while an agent looks at the ring. No later agent will want the ring's content. */
void activity_buffers_wait_for_agent_only(void);

/* Call it when the process ends: from now on, all waiting for room ends at until_ns (CLOCK_MONOTONIC). */
void activity_buffers_hurry(uint64_t until_ns);

/* Call it when the process ends and cannot wait for the records that CUPTI still has: no record is taken from now on.
 * *taken is the number of records of GPU work that were taken; each is in the ring or counted. Returns false if a
 * thread is still taking records at until_ns (CLOCK_MONOTONIC); *taken is 0 then. */
bool activity_buffers_close(uint64_t until_ns, uint64_t *taken);

/* Tells what has come so far, for activity_watch.h: the numbers of GPU records, and of records of streams and contexts.
 * *earliest_ns is when the first work of the records since the last call began (UINT64_MAX: no record). Any thread may
 * call. */
void activity_buffers_seen(uint64_t *records, uint64_t *resources, uint64_t *earliest_ns);

/* Returns whether any record ever came. Any thread may call. */
bool activity_buffers_any(void);

#endif
