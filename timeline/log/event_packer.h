/* Packs launches and GPU records into the blocks of an event log (event_format.h), in memory. Events that find no room
 * are counted as lost. One thread. */
#ifndef EVENT_PACKER_H
#define EVENT_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/record.h"

#define EVENT_PACKER_EVENTS 8192u        /* of one kind in one frame at most */
#define EVENT_PACKER_BLOCK  (512u << 10) /* bytes of frames from which on a block is complete */
#define EVENT_PACKER_ROOM   (64u << 20)  /* bytes of blocks that wait to be written at most */

struct event_packer;

/* NULL: out of memory. event_packer_destroy() accepts NULL. */
struct event_packer *event_packer_create(void);
void event_packer_destroy(struct event_packer *packer);

/* Says whose events the next ones are, and the offset CLOCK_MONOTONIC - CUPTI's clock for them. The ids in all events
 * are the store's. */
void event_packer_begin(struct event_packer *packer, uint32_t process_id, int64_t clock_offset_ns,
			bool clock_valid);
void event_packer_launch(struct event_packer *packer, const struct launch_record *launch);
void event_packer_record(struct event_packer *packer, const struct gpu_record *record);

/* Completes the last block, and returns all since the last event_packer_clear(); borrowed until the next call with this
 * packer. */
const uint8_t *event_packer_blocks(struct event_packer *packer, size_t *size);
void event_packer_clear(struct event_packer *packer);

/* Counts events of blocks that could not be written. */
void event_packer_lose(struct event_packer *packer, uint64_t events);

/* Counts events that earlier writers of the log lost. Call it before all others. */
void event_packer_lost_before(struct event_packer *packer, uint64_t events);
uint64_t event_packer_lost(const struct event_packer *packer);

#endif
