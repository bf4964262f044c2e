/* The agent's view of a record ring: what record_ring_map() makes. For record_ring_reader.c, record_ring_ledger.c
 * and record_ring_owner.c, and included nowhere else but in the test of faults. One thread.
 *
 * Only the control pages are mapped, up to and with the marks: what needs atomics, or is written. All else is read by
 * pread(): that allocates no page where the guest wrote none, so that a large empty ring costs the reader nothing,
 * and what cannot be read is an error and no signal.
 *
 * Of the shared memory's descriptor nothing is asked but fcntl(), fstatfs(), mmap(), pread() and close(), because they
 * take no lock that its guest can hold. A guest that writes to the memory from a page of a file system of its own
 * which never answers holds two locks for good. One is the inode's: write(), fallocate(), ftruncate(), lseek() to data
 * or a hole, and on some kernels fstat() wait for it. The other is that of the file's position: each lseek() and read()
 * wait for that. Not even SIGKILL ends such a wait. */
#ifndef RECORD_RING_READER_H
#define RECORD_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "record_ring_layout.h"
#include "ring_guard.h"
#include "ring_marks.h"

/* The agent's own idea of a lane. The shared cursors are written for the guest, never believed. */
struct reader_lane {
	uint64_t read, released;
	bool given_up;
};

struct record_ring {
	int fd; /* owns */
	uint8_t *base;
	struct ring_guard guard; /* of what is mapped: the layout up to its log */
	struct ring_layout layout;
	/* checked; the copy in shared memory is not looked at again */
	struct record_ring_sizes sizes;
	struct ring_header *header;
	struct ring_lane *lane_controls;
	uint64_t log_read, log_end; /* of what an earlier agent's lane has lost */
	struct reader_lane activity, definition, collective;
	struct ring_marks marks;
	struct reader_lane lanes[]; /* as many as the ring has */
};

/* Launch lanes ever claimed. Those after them were never touched: to look at one would fill a hole in the memory. */
static inline uint32_t ring_lanes_claimed(const struct record_ring *ring)
{
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_acquire);

	return lanes < ring->sizes.launch_lanes ? lanes : ring->sizes.launch_lanes;
}

/* Copies size bytes from offset. 0; -EPROTO: they cannot be read. */
int record_ring_copy(const struct record_ring *ring, uint64_t offset, void *to, size_t size);

#endif
