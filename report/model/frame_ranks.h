/* Of how many ranks each frame of a report is: what the ranks of a job do alike, and what some of them do alone.
 * Immutable; any thread. */
#ifndef FRAME_RANKS_H
#define FRAME_RANKS_H

#include <stdint.h>

#include "report_dimension.h"
#include "report_tree.h"

struct frame_ranks;

/* Counts the ranks whose leaves lie under a frame: equal paths of one plane are one frame, of whichever process, and
 * equal activities of whichever GPU are one leaf; but what is of different hosts, GPUs, contexts, streams or threads,
 * where *by has these, is not. by NULL: nothing keeps them apart. Nothing of the arguments is kept but the tree, which
 * is borrowed until destroy. *ranks is NULL where there is nothing to tell: the leaves are of fewer than two ranks, or
 * *by keeps ranks apart. 0; -ENOMEM: *ranks is NULL. */
int frame_ranks_create(const struct report_tree *tree, const struct report_by *by,
		       struct frame_ranks **ranks);
void frame_ranks_destroy(struct frame_ranks *ranks); /* accepts NULL */

/* The ranks that leaves of the tree are of. */
uint32_t frame_ranks_all(const struct frame_ranks *ranks);

/* Of those, the ones that have the frame: a node of the leaf's path; or the leaf itself. Only unknown ranks do: 0. */
uint32_t frame_ranks_of_node(const struct frame_ranks *ranks, const struct report_leaf *leaf,
			     uint32_t node);
uint32_t frame_ranks_of_leaf(const struct frame_ranks *ranks, const struct report_leaf *leaf);

#endif
