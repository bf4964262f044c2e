/* The marks in a record ring: for each message on its way, how far its agent had read. Kept in the shared memory, where
 * they outlive the agent; part of the reader (record_ring_reader.h) and included nowhere else.
 *
 * Marks are written through the mapping, since pwrite() would wait for the file's lock, which its guest may hold for as
 * long as it likes. They are read by pread(), which takes no lock and fills no hole. */
#ifndef RING_MARKS_H
#define RING_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "record_ring_layout.h"

/* Embedded. Slots in use are queued by message number; the rest are a stack, so that few are ever touched. */
struct ring_marks {
	int fd;                  /* borrowed: the shared memory, which is read by calls */
	_Atomic uint64_t *slots; /* borrowed: the slots in the guarded mapping, which are written */
	uint64_t offset;         /* of the slots in the shared memory, in bytes */
	uint64_t words;          /* a slot */
	_Atomic uint32_t *nr_slots; /* in the memory: those that were ever in use, for whoever comes next */
	uint32_t launch_lanes;
	uint16_t queue[RECORD_RING_MARKS], unused[RECORD_RING_MARKS];
	/* by slot: our own copy, the shared one is not believed */
	uint64_t seqs[RECORD_RING_MARKS];
	uint32_t first, count;
};

/* Where a mark lies: cursors as in enum ring_mark_word. Owns launch, which holds launch_lanes of them. */
struct ring_cursors {
	uint64_t activity, definition, collective;
	uint64_t gone[RING_GONE_KINDS];
	uint32_t lanes;
	const uint64_t *launch;
};

/* base: where the memory is mapped, with the slots, under a guard. */
void ring_marks_init(struct ring_marks *marks, int fd, uint8_t *base, uint64_t offset,
		     _Atomic uint32_t *nr_slots, const struct record_ring_sizes *sizes);

/* Forgets all marks, also those in the memory. */
void ring_marks_clear(struct ring_marks *marks);

/* 0; -EBUSY: none is free. */
int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors);

/* All but the newest mark up to seq become free: that one says where the acknowledged part ends. */
void ring_marks_drop(struct ring_marks *marks, uint64_t seq);

/* The newest mark in the memory up to seq, as its words (enum ring_mark_word). What they say is unchecked. false:
 * there is none. */
bool ring_marks_find(const struct ring_marks *marks, uint64_t seq,
		     uint64_t words[static RING_MARK_WORDS_MAX]);

#endif
