/* Threads that launch GPU work from the CPUs of another NUMA node than the GPU's. Used by one thread. */
#ifndef REPORT_PLACEMENT_H
#define REPORT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct report_placement_row { /* a thread, and a GPU on which it launched */
	const char *host;     /* clean text (frame_text.h) */
	int32_t rank;         /* REPORT_RANK_NONE */
	int32_t gpu;          /* REPORT_GPU_NONE */
	uint32_t pid, tid;
	bool known;         /* where the GPU is; else far is 0 */
	uint32_t numa_node; /* the GPU's */
	uint64_t looks,
		far; /* how often it was looked where the thread was; and it was on another node */
};

struct report_placement {
	/* by rank, host, GPU, thread: those that were far, or of whose GPU it is not known */
	struct report_placement_row *rows;
	uint32_t nr_rows;
};

/* Without a comparison (machines with one node) there are no rows. 0; -ENOMEM: *placement is NULL. destroy() accepts
 * NULL. */
int report_placement_create(const struct profile *profile, struct report_placement **placement);
void report_placement_destroy(struct report_placement *placement);

#endif
