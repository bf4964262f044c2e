/* How much of a process's memory the guest may take. Each size begins at its largest (record_ring.h, and below) and is
 * halved, though not below a floor of its own, until
 *
 *	record_ring_bytes(&ring) + nr_buffers * buffer_bytes + ring.launch_lanes * sizeof(struct launch_thread)
 *		+ table_bytes + name_bytes
 *
 * is at most the least of
 *	an eighth of the cgroup's limit, divided by the number of ranks: past it the kernel kills,
 *	a quarter of the machine's memory, divided by the number of ranks,
 *	half of the address space that is left, less MEMORY_BUDGET_FIXED,
 * and until the ring, which is a file, is within the limit on these. With all sizes at their floors the sum is 28 MiB:
 * a process under tighter limits gets those.
 * The bound is this sum and MEMORY_BUDGET_FIXED: tables that are in memory only as far as they are used (16 MiB of them
 * for nodes of graphs). Not within it are CUPTI's own memory, 6 MiB for each thread while it builds graphs, 108 KiB for
 * each thread that launches while as many threads as there are lanes have launched and live, and with `--api` 108 KiB
 * for each thread. Pure. */
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
	uint64_t bound;                    /* all of it */
	enum memory_budget_limit limit;    /* that set the sizes */
};

void memory_budget_make(const struct memory_limits *limits, struct memory_budget *budget);

#define MEMORY_BUDGET_TEXT_MAX 256u

/* "at most 60 MiB, because the cgroup's memory limit is 200 MiB": of a process that is profiled. */
void memory_budget_text(const struct memory_budget *budget, const struct memory_limits *limits,
			char text[static MEMORY_BUDGET_TEXT_MAX]);

/* Why there is no memory for a mapping: the limit with its value as `ulimit` has it, where there is one. */
void memory_budget_lack(const struct memory_limits *limits,
			char text[static MEMORY_BUDGET_TEXT_MAX]);

#endif
