/* The agent's view of a record ring: what record_ring_map() makes. For record_ring_reader.c, record_ring_ledger.c and
 * record_ring_owner.c, and included nowhere else. One thread. */
#ifndef RECORD_RING_READER_H
#define RECORD_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record_ring_layout.h"
#include "proto/ring_marks.h"

/* The agent's own idea of a lane. The shared cursors are written for the guest, never believed. */
struct reader_lane {
	uint64_t read, released;
	bool given_up;
};

struct record_ring {
	uint8_t *base;
	uint64_t size;
	struct record_ring_sizes
		sizes; /* checked; the copy in shared memory is not looked at again */
	struct ring_header *header;
	struct ring_counter *counters;
	struct ring_lane *lane_controls;
	_Atomic uint64_t *stack_index;
	const uint64_t *stack_arena;
	_Atomic uint64_t *code_index;
	const uint64_t *code_arena;
	const uint8_t *definitions, *log;
	uint64_t log_read, log_end; /* of what an earlier agent's lane has lost */
	const struct gpu_record *activity_records;
	const struct launch_record *launch_records;
	struct ring_collective *collectives;
	struct reader_lane activity, definition, collective;
	struct reader_lane lanes[RECORD_RING_LANES_MAX];
	struct ring_marks marks;
};

/* Launch lanes ever claimed. Those after them were never touched: to look at one would fill a hole in the memory. */
static inline uint32_t ring_lanes_claimed(const struct record_ring *ring)
{
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_acquire);

	return lanes < ring->sizes.launch_lanes ? lanes : ring->sizes.launch_lanes;
}

#endif
