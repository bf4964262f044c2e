/* The marks in a record ring: for each unacknowledged message, how far its agent had read. They lie in the shared
 * memory, where they outlive the agent. Part of the reader; only record_ring_reader.h includes it.
 *
 * Marks are written through the mapping, because pwrite() would wait for the file's lock, which the guest may hold for
 * ever. They are read by pread(), which takes no lock and fills no hole. */
#ifndef RING_MARKS_H
#define RING_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "record_ring_layout.h"

/* Embedded. Slots in use form a queue by message number. The others form a stack, so that few slots are ever touched.
 */
struct ring_marks {
	int fd;                  /* borrowed: the shared memory, for pread() */
	_Atomic uint64_t *slots; /* borrowed: the slots in the guarded mapping, for writing */
	uint64_t offset;         /* of the slots in the shared memory, in bytes */
	uint64_t words;          /* in each slot */
	_Atomic uint32_t *nr_slots; /* in the shared memory: slots that were ever in use, for the next agent */
	uint32_t launch_lanes;
	uint16_t queue[RECORD_RING_MARKS], unused[RECORD_RING_MARKS];
	/* by slot: our own copy, because the shared one may be forged */
	uint64_t seqs[RECORD_RING_MARKS];
	uint32_t first, count;
};

/* The cursors of a mark, as in enum ring_mark_word. launch is borrowed and has `lanes` cursors. */
struct ring_cursors {
	uint64_t activity, definition, collective;
	uint64_t gone[RING_GONE_KINDS];
	uint32_t lanes;
	const uint64_t *launch;
};

/* base: the guarded mapping, which includes the slots. */
void ring_marks_init(struct ring_marks *marks, int fd, uint8_t *base, uint64_t offset,
		     _Atomic uint32_t *nr_slots, const struct record_ring_sizes *sizes);

/* Forgets all marks, also those in the shared memory. */
void ring_marks_clear(struct ring_marks *marks);

/* 0; -EBUSY: none is free. */
int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors);

/* Frees all marks up to seq but the newest of them, which says where the acknowledged part ends. */
void ring_marks_drop(struct ring_marks *marks, uint64_t seq);

/* Copies the words (enum ring_mark_word) of the newest mark up to seq from the shared memory. They are unchecked.
 * false: there is no such mark. */
bool ring_marks_find(const struct ring_marks *marks, uint64_t seq,
		     uint64_t words[static RING_MARK_WORDS_MAX]);

#endif
