/* The marks in a record ring: for each message on its way, how far its agent had read. Kept in the shared memory, where
 * they outlive the agent; part of the reader (record_ring_reader.h) and included nowhere else. */
#ifndef RING_MARKS_H
#define RING_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record_ring_layout.h"

/* Embedded. Slots in use are queued by message number; the rest are a stack, so that few are ever touched. */
struct ring_marks {
	_Atomic uint64_t *slots; /* in the shared memory */
	_Atomic uint32_t *nr_slots; /* likewise: those that were ever in use, for whoever comes next */
	uint64_t words;             /* a slot */
	uint32_t launch_lanes;
	uint16_t queue[RECORD_RING_MARKS], unused[RECORD_RING_MARKS];
	uint64_t
		seqs[RECORD_RING_MARKS]; /* by slot: our own copy, the shared one is not believed */
	uint32_t first, count;
};

/* Where a mark lies: cursors as in enum ring_mark_word. Owns launch, which holds launch_lanes of them. */
struct ring_cursors {
	uint64_t activity, definition, collective;
	uint64_t gone[RING_GONE_KINDS];
	uint32_t lanes;
	const uint64_t *launch;
};

void ring_marks_init(struct ring_marks *marks, uint8_t *memory, _Atomic uint32_t *nr_slots,
		     const struct record_ring_sizes *sizes);

/* Forgets all marks, also those in the memory. */
void ring_marks_clear(struct ring_marks *marks);

/* 0; -EBUSY: none is free. */
int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors);

/* All but the newest mark up to seq become free: that one says where the acknowledged part ends. */
void ring_marks_drop(struct ring_marks *marks, uint64_t seq);

/* The newest mark in the memory up to seq, as its words; NULL: there is none. What they say is unchecked. */
const _Atomic uint64_t *ring_marks_find(const struct ring_marks *marks, uint64_t seq);

#endif
