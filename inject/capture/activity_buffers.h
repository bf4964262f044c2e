/* CUPTI's activity buffers: handed out empty, taken back full, turned into gpu_records in the ring.
 * CUPTI calls on threads of its choice; what is not lock-free is behind the activity lock. One per
 * process, because CUPTI passes no user pointer. */
#ifndef ACTIVITY_BUFFERS_H
#define ACTIVITY_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

struct cupti_library;
struct definition_writer;
struct gpu_record;
struct graph_nodes;
struct memory_budget;
struct record_ring;

/* Makes ready for the two callbacks below. All borrowed for good; nodes (may be NULL) know the stacks of graphs;
 * window is that of the records, from 1; budget says how much memory there is for buffers and names. Returns 0, or
 * -ENOMEM: CUPTI's activity must stay off. Called again it replaces what is borrowed (tests). */
int activity_buffers_init(struct record_ring *ring, struct definition_writer *definitions,
			  const struct cupti_library *library, const struct graph_nodes *nodes,
			  uint16_t window, const struct memory_budget *budget);
void activity_buffers_fini(void);

/* Calls wake from a request once CUPTI holds so many buffers that only a flush brings enough of them back. wake is
 * called on any thread, inside CUPTI's callback. Once, after activity_buffers_init(), before CUPTI asks for buffers. */
void activity_buffers_on_crowd(void (*wake)(void));

/* For cuptiActivityRegisterCallbacks. A request when all buffers are out gets a small one whose
 * content is thrown away and counted; never NULL, which crashes CUPTI before 12.9. */
void activity_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);

/* Also for it. Waits for room in the activity lane up to 100 ms a buffer, but never on a thread
 * that launches; then counts what does not fit. */
void activity_buffers_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			       size_t valid_size);

/* The window that records belong to from now on. Between windows only. */
void activity_buffers_set_window(uint16_t window);

/* Gives memory of the activity lane and of the buffers back once the lane rests (record_ring.h). The helper thread. */
void activity_buffers_trim(void);

/* Takes what CUPTI says it has dropped into the ledger. The helper, or whoever leaves CUPTI. */
void activity_buffers_count_dropped(void);

/* CUPTI has left: buffers that it did not give back are free again. */
void activity_buffers_reclaim(void);
/* A record that the guest made itself, with valid times; as if CUPTI had delivered it. name: NULL or as in a kernel's
 * record. Not on a thread of the application's: it waits for the activity lock, and for room as above. */
void activity_buffers_put(const struct gpu_record *record, const char *name);
/* Defines the launch configurations that changed. last: what finds no room is counted as lost. The helper thread. */
void activity_buffers_define(bool last);

/* From now on, wait for room only while an agent looks at the ring: none that comes later will want what is in it. */
void activity_buffers_wait_for_agent_only(void);

/* From now on, wait for room no longer than until_ns (CLOCK_MONOTONIC) in all: the process ends. */
void activity_buffers_hurry(uint64_t until_ns);

/* From now on no record is taken: the process ends, and cannot wait for those that CUPTI still has. *taken: records
 * of GPU work that were, each of which is in the ring or counted. false: a thread is still at it after until_ns
 * (CLOCK_MONOTONIC), and *taken is 0. */
bool activity_buffers_close(uint64_t until_ns, uint64_t *taken);

/* What has come so far, for activity_watch.h: GPU records, records of streams and contexts, and when
 * the first work began of the records since the last call (UINT64_MAX: none). Any thread. */
void activity_buffers_seen(uint64_t *records, uint64_t *resources, uint64_t *earliest_ns);

/* Whether any GPU record ever came. Any thread. */
bool activity_buffers_any(void);

#endif
