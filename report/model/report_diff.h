/* Compares one rank's work with that of another, or with the median of all others: a tree of the same stacks with
 * both amounts. Leaves are merged over GPUs and threads: "[GPU_Kernel]gemm", and so are kernels that are frames.
 * Reasons of stalls have no mark (REPORT_STALL_ASSUMED), so that shared samples can be compared, too: "[stall]wait".
 * The median is taken for each stack by itself over all other ranks of the tree, and a rank without the stack counts as
 * 0; so medians do not add up to the median of the sums. Used by one thread; immutable once made. */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdint.h>

#include "report_tree.h"

#define REPORT_DIFF_MEDIAN (-1)

struct report_diff_amount {
	uint64_t count, ns, bytes;
};

struct report_diff {
	struct report_tree tree;                 /* the new side, with the rank's leaves */
	const struct report_diff_amount *before; /* for each leaf: the other side's amount */
	uint32_t nr_others;                      /* ranks in the median; 1: a single rank */
	char label_before[64], label_after[64];  /* "median of 7 ranks", "rank 5" */
};

/* against is a rank, or REPORT_DIFF_MEDIAN. The tree is borrowed until destroy. 0; -ENOENT: the tree has nothing of
 * the rank, or of the other side; -ENOMEM. On error *diff is NULL. */
int report_diff_create(const struct report_tree *tree, int32_t rank, int32_t against,
		       struct report_diff **diff);
void report_diff_destroy(struct report_diff *diff); /* accepts NULL */

#endif
