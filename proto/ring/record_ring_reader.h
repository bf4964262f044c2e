/* The agent's view of a record ring, which record_ring_map() makes. Only record_ring_reader.c, record_ring_ledger.c,
 * record_ring_owner.c and the test of faults include it. One thread.
 *
 * Only the control pages, marks included, are mapped: the reader writes them or needs atomics there. The rest is read
 * by pread(). That allocates no page where the guest wrote none, so a large empty ring costs the reader nothing. And a
 * part that cannot be read is an error, not a signal.
 *
 * The only calls on the shared memory's descriptor are fcntl(), fstatfs(), mmap(), pread() and close(), because these
 * take no lock that the guest can hold. A guest can hold two locks for ever: it writes to the memory from a page of its
 * own file system, which never answers. One lock is the inode's: write(), fallocate(), ftruncate(), lseek() to data or
 * a hole, and on some kernels fstat() wait for it. The other one protects the file's position: lseek() and read() wait
 * for it. Not even SIGKILL ends such a wait. */
#ifndef RECORD_RING_READER_H
#define RECORD_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "record_ring_layout.h"
#include "ring_guard.h"
#include "ring_marks.h"

/* The agent's own cursors of a lane. It writes the shared cursors for the guest, and never reads them back. */
struct reader_lane {
	uint64_t read, released;
	bool given_up;
};

struct record_ring {
	int fd; /* owns */
	uint8_t *base;
	struct ring_guard guard; /* guards the mapping: the layout up to its log */
	struct ring_layout layout;
	/* checked; the copy in shared memory is never read again */
	struct record_ring_sizes sizes;
	struct ring_header *header;
	struct ring_lane *lane_controls;
	const struct ring_meter *meters;
	uint64_t log_read, log_end; /* of definitions that only the log still has */
	struct reader_lane activity, definition, collective;
	uint64_t samples_begin; /* copy of the header's */
	struct ring_marks marks;
	struct reader_lane lanes[]; /* sizes.launch_lanes */
};

/* Launch lanes ever claimed. The others were never touched, and reading one would fill a hole in the memory. */
static inline uint32_t ring_lanes_claimed(const struct record_ring *ring)
{
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_acquire);

	return lanes < ring->sizes.launch_lanes ? lanes : ring->sizes.launch_lanes;
}

/* Copies size bytes from offset. 0; -EPROTO: they cannot be read. */
int record_ring_copy(const struct record_ring *ring, uint64_t offset, void *to, size_t size);

#endif
