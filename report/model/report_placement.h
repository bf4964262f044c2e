/* Finds threads that launch GPU work from the CPUs of another NUMA node than the GPU's. Used by one thread. */
#ifndef REPORT_PLACEMENT_H
#define REPORT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct report_placement_row { /* a thread, and a GPU on which it launched */
	const char *host;     /* clean text (clean_text.h) */
	int32_t rank;         /* REPORT_RANK_NONE */
	int32_t gpu;          /* REPORT_GPU_NONE */
	uint32_t pid, tid;
	bool known;         /* whether the GPU's node is known; if not, far is 0 */
	uint32_t numa_node; /* the GPU's */
	uint64_t looks,
		/* samples of the thread's place, and those of them on another node */
		far;
};

struct report_placement {
	/* by rank, host, GPU, thread; threads that were far, or whose GPU's node is not known */
	struct report_placement_row *rows;
	uint32_t nr_rows;
};

/* Machines with one node have no samples, and so no rows. 0; -ENOMEM: *placement is NULL. destroy() accepts NULL. */
int report_placement_create(const struct profile *profile, struct report_placement **placement);
void report_placement_destroy(struct report_placement *placement);

#endif
