/* Counts for each frame of a report the ranks that have it. So work of all ranks differs visibly from work of a few.
 * Immutable; any thread. */
#ifndef FRAME_RANKS_H
#define FRAME_RANKS_H

#include <stdint.h>

#include "report_dimension.h"
#include "report_tree.h"

struct frame_ranks;

/* Counts the ranks whose leaves lie under a frame. Equal paths of one plane are one frame in all processes, and equal
 * activities are one leaf on all GPUs. If *by has hosts, GPUs, contexts, streams or threads, frames and leaves that
 * differ in these stay apart; by NULL: nothing stays apart. The tree is borrowed until destroy; *by only for the call.
 * 0; -ENOMEM: *ranks is NULL. *ranks is also NULL if the leaves are of fewer than two ranks, or have
 * none, or if *by keeps ranks apart. */
int frame_ranks_create(const struct report_tree *tree, const struct report_by *by,
		       struct frame_ranks **ranks);
void frame_ranks_destroy(struct frame_ranks *ranks); /* accepts NULL */

/* Returns the number of ranks to which leaves of the tree belong. */
uint32_t frame_ranks_all(const struct frame_ranks *ranks);

/* Returns how many of these ranks have the frame: a node of the leaf's path, or the leaf itself. 0: only unknown
 * ranks have it. */
uint32_t frame_ranks_of_node(const struct frame_ranks *ranks, const struct report_leaf *leaf,
			     uint32_t node);
uint32_t frame_ranks_of_leaf(const struct frame_ranks *ranks, const struct report_leaf *leaf);

#endif
