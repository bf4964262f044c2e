/* Computes how much of a process's memory the guest may take. Each size begins at its largest (record_ring.h, and
 * below). It is halved, but not below a floor of its own, until
 *
 *	record_ring_bytes(&ring) + nr_buffers * buffer_bytes + ring.launch_lanes * sizeof(struct launch_thread)
 *		+ table_bytes + name_bytes
 *
 * is at most the least of
 *	an eighth of the cgroup's limit, divided by the number of ranks: past that limit the kernel kills,
 *	a quarter of the machine's memory, divided by the number of ranks,
 *	half of the address space that is left, less MEMORY_BUDGET_FIXED,
 * and until the ring, which is a file, is within the limit on file sizes. With all sizes at their floors the sum is 28
 * MiB; a process under tighter limits gets these floors.
 *
 * The bound is this sum plus MEMORY_BUDGET_FIXED, for tables whose memory grows as they are used (16 MiB of them for
 * nodes of graphs). The bound does not contain:
 *   - CUPTI's own memory,
 *   - 6 MiB for each thread while it builds graphs,
 *   - 108 KiB for each thread that launches while as many threads as there are lanes have launched and live,
 *   - 108 KiB for each thread with `--api`.
 * Pure. */
#ifndef MEMORY_BUDGET_H
#define MEMORY_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "inject/base/memory_limits.h"
#include "proto/ring/record_ring.h"

#define MEMORY_BUDGET_FIXED (32ull << 20)

enum memory_budget_limit {
	MEMORY_BUDGET_UNLIMITED = 0, /* the largest sizes fit */
	MEMORY_BUDGET_CGROUP,
	MEMORY_BUDGET_MACHINE,
	MEMORY_BUDGET_ADDRESS_SPACE,
	MEMORY_BUDGET_FILE,
};

struct memory_budget {
	struct record_ring_sizes ring;
	uint32_t nr_buffers, buffer_bytes; /* CUPTI's activity buffers (buffer_pool.h) */
	uint64_t table_bytes;              /* unwind tables */
	uint64_t name_bytes;               /* names of kernels */
	uint64_t bound;                    /* for everything */
	enum memory_budget_limit limit;    /* the limit that set the sizes */
};

void memory_budget_make(const struct memory_limits *limits, struct memory_budget *budget);

#define MEMORY_BUDGET_TEXT_MAX 256u

/* Writes how much memory a profiled process gives the guest: "at most 60 MiB, because the cgroup's memory limit is 200
 * MiB". */
void memory_budget_text(const struct memory_budget *budget, const struct memory_limits *limits,
			char text[static MEMORY_BUDGET_TEXT_MAX]);

/* Writes why there is no memory for a mapping. If a limit is the reason, the text has its value as `ulimit` shows
 * it. */
void memory_budget_lack(const struct memory_limits *limits,
			char text[static MEMORY_BUDGET_TEXT_MAX]);

#endif
