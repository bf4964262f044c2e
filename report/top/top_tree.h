/* How the tree of top_sums is put together. Part of top_sums; one thread. */
#ifndef TOP_TREE_H
#define TOP_TREE_H

#include "top_sums.h"

/* Returns the child of this parent with this key, which is made if it is missing; TOP_SUMS_NONE: out of memory, or
 * there are TOP_SUMS_KERNELS, and that is counted. parent TOP_SUMS_NONE: the first node is made. Pointers to nodes are
 * then no longer valid. */
uint32_t top_tree_get(struct top_sums *sums, enum top_level level, uint32_t parent, uint64_t key);

/* Adds up the nodes from the streams outwards, and links children in order: by rank, host, GPU, process, stream;
 * kernels by their time, the longest first. 0 or -ENOMEM. */
int top_tree_finish(struct top_sums *sums);

#endif
