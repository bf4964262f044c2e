/* Sums of leaves with a common property. Used by one thread. */
#ifndef REPORT_GROUPS_H
#define REPORT_GROUPS_H

#include <stdint.h>

#include "report_tree.h"

enum report_group_by {
	REPORT_GROUP_ACTIVITY, /* by activity, over all GPUs: label is "gemm" or "HtoD" */
	REPORT_GROUP_HOST,
	REPORT_GROUP_GPU,  /* by GPU of a host */
	REPORT_GROUP_STEP, /* by kind of step: "[step] prefill" */
};

struct report_group {
	const char *label; /* activity, host or step; borrowed from the tree */
	uint32_t kind;     /* enum report_kind; of REPORT_GROUP_ACTIVITY */
	int32_t gpu;       /* of REPORT_GROUP_GPU */
	uint64_t count, ns, bytes;
};

struct report_groups {
	struct report_group *groups; /* owns; by time, the longest first, then by label */
	uint32_t nr_groups;
};

/* 0; -ENOMEM: *groups is empty. */
int report_groups_init(struct report_groups *groups, const struct report_tree *tree,
		       enum report_group_by by);
void report_groups_fini(struct report_groups *groups);

/* Returns a leaf's name without the "[GPU0_Kernel]" before it. Borrowed as name is. */
const char *report_groups_activity(const char *name);

/* "kernel", "memcpy", "memset", "graph", "sync", "alloc" (kind_name.h). Static storage. */
const char *report_groups_kind(uint32_t kind);

#endif
