/* Puts the trees of two profiles on one tree, whose leaves have rank PAIR_BEFORE or PAIR_AFTER. report_diff_create()
 * compares these as it compares ranks. Frames are matched by their names. A native function without a symbol is named
 * by its file alone, because its address differs from build to build. Used by one thread; immutable once made. */
#ifndef PAIR_TREE_H
#define PAIR_TREE_H

#include <stdbool.h>

#include "report/model/report_tree.h"

#define PAIR_BEFORE 0
#define PAIR_AFTER  1

struct pair_tree {
	struct report_tree tree;  /* processes, losses and notices are those of the profile after */
	const bool *is_framework; /* by string: the name is a framework's frame */
};

/* factor: what the amounts before are multiplied with, so that both sides stand for the same number of steps. Both
 * trees are borrowed until destroy. 0 or -ENOMEM; on error *pair is NULL. */
int pair_tree_create(const struct report_tree *before, const struct report_tree *after,
		     double factor, struct pair_tree **pair);
void pair_tree_destroy(struct pair_tree *pair); /* accepts NULL */

#endif
