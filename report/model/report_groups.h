/* Sums of leaves with a common property. Used by one thread. */
#ifndef REPORT_GROUPS_H
#define REPORT_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "report_dimension.h"

enum report_group_by {
	REPORT_GROUP_ACTIVITY, /* by activity, over all GPUs: label is "gemm" or "HtoD" */
	REPORT_GROUP_ALL,      /* all leaves are one group, with the label "" */
};

struct report_group {
	const char *label; /* activity; borrowed from the tree */
	uint32_t kind;     /* enum report_kind; of REPORT_GROUP_ACTIVITY */
	/* of the dimensions by which groups are split, in their order (report_dimension_value) */
	uint32_t values[REPORT_DIMENSIONS];
	uint64_t count, ns, bytes;
	/* of REPORT_GROUP_ACTIVITY, the histogram of all durations; false: not known, and it is empty */
	bool has_durations;
	struct duration_bins durations; /* owns */
};

struct report_groups {
	struct report_group *groups; /* owns; by time, the longest first, then by label */
	uint32_t nr_groups;
};

/* split (may be NULL): each group is divided by these dimensions, too. 0; -ENOMEM: *groups is empty. */
int report_groups_init(struct report_groups *groups, const struct report_tree *tree,
		       enum report_group_by by, const struct report_by *split);
void report_groups_fini(struct report_groups *groups);

/* Returns a leaf's name without the "[GPU0_Kernel]" before it, and without the mark of an assumption. Borrowed as name
 * is. */
const char *report_groups_activity(const char *name);

/* Returns whether a leaf's name has that mark: "[stall]≈wait". */
bool report_groups_is_assumed(const char *name);

/* "kernel", "memcpy", "memset", "graph", "sync", "alloc" (kind_name.h). Static storage. */
const char *report_groups_kind(uint32_t kind);

#endif
