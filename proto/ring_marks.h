/* The marks in a record ring: for each message on its way, how far its agent had read. Kept in the shared memory, where
 * they outlive the agent; part of the reader (record_ring_reader.h) and included nowhere else. */
#ifndef RING_MARKS_H
#define RING_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/record_ring_layout.h"

/* Embedded. Slots in use are queued by message number; the rest are a stack, so that few are ever touched. */
struct ring_marks {
	int fd;          /* borrowed: the shared memory, which is read and written by calls */
	uint64_t offset; /* of the slots in it, in bytes */
	uint64_t words;  /* a slot */
	_Atomic uint32_t *nr_slots; /* in the memory: those that were ever in use, for whoever comes next */
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

void ring_marks_init(struct ring_marks *marks, int fd, uint64_t offset, _Atomic uint32_t *nr_slots,
		     const struct record_ring_sizes *sizes);

/* Forgets all marks, also those in the memory. */
void ring_marks_clear(struct ring_marks *marks);

/* 0; -EBUSY: none is free. One that the memory does not take is missed by the next agent alone. */
int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors);

/* All but the newest mark up to seq become free: that one says where the acknowledged part ends. */
void ring_marks_drop(struct ring_marks *marks, uint64_t seq);

/* The newest mark in the memory up to seq, as its words (enum ring_mark_word). What they say is unchecked. false:
 * there is none. */
bool ring_marks_find(const struct ring_marks *marks, uint64_t seq,
		     uint64_t words[static RING_MARK_WORDS_MAX]);

#endif
