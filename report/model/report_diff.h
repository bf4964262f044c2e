/* One rank's work beside that of another, or of the median of all others: a tree of the same stacks, each with both.
 * Leaves are put together whatever GPU and thread they are of: "[GPU_Kernel]gemm". The median is that of each stack by
 * itself, over all other ranks that the tree has, 0 for one that has none of it; so medians do not add up to the median
 * of the sums. Used by one thread; immutable once made. */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdint.h>

#include "report_tree.h"

#define REPORT_DIFF_MEDIAN (-1)

struct report_diff_amount {
	uint64_t count, ns, bytes;
};

struct report_diff {
	struct report_tree tree;                 /* what is new: its leaves are the rank's */
	const struct report_diff_amount *before; /* for each leaf: the other's */
	uint32_t nr_others;                      /* that the median is of, or 1 */
	char label_before[64], label_after[64];  /* "median of 7 ranks", "rank 5" */
};

/* against: a rank, or REPORT_DIFF_MEDIAN. The tree is borrowed until destroy. 0; -ENOENT: the tree has nothing of the
 * rank, or of what it is held against; -ENOMEM. On error *diff is NULL. */
int report_diff_create(const struct report_tree *tree, int32_t rank, int32_t against,
		       struct report_diff **diff);
void report_diff_destroy(struct report_diff *diff); /* accepts NULL */

#endif
