/* Computes the sizes of the guest's ring, buffers and tables from the memory that the process may use. Each size begins
 * at its largest (record_ring.h, and below). It is halved, but not below a floor of its own, until
 *
 *	record_ring_bytes(&ring) + nr_buffers * buffer_bytes + ring.launch_lanes * sizeof(struct launch_thread)
 *		+ table_bytes + name_bytes
 *
 * is at most the least of
 *	an eighth of the cgroup's limit, divided by the number of ranks: past that limit the kernel kills,
 *	a quarter of the machine's memory, divided by the number of ranks,
 *	half of the address space that is left, less GUEST_SIZES_FIXED and what CUPTI's thread takes,
 * and until the ring, which is a file, is within the limit on file sizes. With all sizes at their floors the sum is 28
 * MiB. A process gets these floors where a tighter share of memory is all that stands against them. Address space and
 * file sizes are different: their limits refuse the program's own requests, too. Where the floors exceed the share of
 * address space, or the ring the limit on file sizes, the guest must take nothing.
 *
 * CUPTI delivers from a thread of its own. That thread takes address space for its stack and for its heap. For the heap
 * of a new thread the C library (glibc's malloc/arena.c, HEAP_MAX_SIZE) maps 128 MiB, and gives half of it back. While
 * unwind tables are built, they take address space twice.
 *
 * The bound is this sum plus GUEST_SIZES_FIXED, for tables whose memory grows as they are used (16 MiB of them for
 * nodes of graphs, 8 MiB for known stacks). The bound does not contain:
 *   - CUPTI's own memory,
 *   - 6 MiB for each thread while it builds graphs,
 *   - 110 KiB for each thread that launches while as many threads as there are lanes have launched and live,
 *   - 110 KiB for each thread with `--api`,
 *   - 36 KiB for each thread that launches under frames of Python (python_texts.h).
 * Pure. */
#ifndef GUEST_SIZES_H
#define GUEST_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/base/memory_limits.h"
#include "proto/ring/record_ring.h"

#define GUEST_SIZES_FIXED (40ull << 20)
#define GUEST_SIZES_HEAP  (128ull << 20) /* of CUPTI's thread */

enum guest_sizes_limit {
	GUEST_SIZES_UNLIMITED = 0, /* the largest sizes fit */
	GUEST_SIZES_CGROUP,
	GUEST_SIZES_MACHINE,
	GUEST_SIZES_ADDRESS_SPACE,
	GUEST_SIZES_FILE,
};

struct guest_sizes {
	struct record_ring_sizes ring;
	uint32_t nr_buffers, buffer_bytes; /* CUPTI's activity buffers (buffer_pool.h) */
	uint64_t table_bytes;              /* unwind tables */
	uint64_t name_bytes;               /* names of kernels */
	uint64_t bound;                    /* for everything */
	enum guest_sizes_limit limit;      /* the limit that set the sizes */
	/* What GUEST_SIZES_ADDRESS_SPACE or GUEST_SIZES_FILE must be for the least sizes. 0: these sizes may be
	 * taken. */
	uint64_t needed;
};

void guest_sizes_make(const struct memory_limits *limits, struct guest_sizes *sizes);

/* Returns whether the guest's half of the address space has room for so many bytes more. limits: those that the sizes
 * were made from. */
bool guest_sizes_leave(const struct guest_sizes *sizes, const struct memory_limits *limits,
		       uint64_t bytes);

/* Returns whether bursts of launches may be lost: each launch lane has a sixteenth of its largest size or less, which
 * is 25 ms at 300,000 launches a second. */
bool guest_sizes_are_tight(const struct guest_sizes *sizes);

#define GUEST_SIZES_TEXT_MAX 256u

/* Writes how much memory a profiled process gives the guest: "at most 68 MiB, because the cgroup's memory limit is 200
 * MiB". If bursts of launches may be lost, the limit for which they are not follows: "; 1664000 KiB are enough". */
void guest_sizes_text(const struct guest_sizes *sizes, const struct memory_limits *limits,
		      char text[static GUEST_SIZES_TEXT_MAX]);

/* Writes why there is no memory for a mapping. If a limit is the reason, the text has its value and the least value
 * that would do, as `ulimit` shows them. */
void guest_sizes_lack(const struct memory_limits *limits, char text[static GUEST_SIZES_TEXT_MAX]);

#endif
