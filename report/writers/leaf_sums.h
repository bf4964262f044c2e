/* Sums of leaves for formats that keep the GPU apart from the name of its work: of "[GPU0_Kernel]gemm" and
 * "[GPU1_Kernel]gemm" under one path there is one sum, named "[Kernel]gemm", for each value of the wanted dimensions.
 * Used by one thread. */
#ifndef LEAF_SUMS_H
#define LEAF_SUMS_H

#include <stdint.h>
#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_plane.h"
#include "report/model/report_tree.h"

#define LEAF_SUMS_TEXT_SIZE 48u /* bytes that suffice for leaf_sums_value() */

struct leaf_sum {
	uint32_t plane;                     /* enum report_plane */
	uint32_t values[REPORT_DIMENSIONS]; /* of the wanted dimensions, in their order */
	uint32_t node;                      /* index into the tree's nodes */
	uint32_t name; /* index into the tree's strings: of the first such leaf */
	uint64_t count, ns, bytes;
};

struct leaf_sums {
	struct leaf_sum *sums; /* owns */
	uint32_t nr_sums;
};

/* Fills *by with the wanted dimensions; if there are none, with those that tell GPUs apart: the job, if any is known,
 * host, rank, GPU and stream. wanted may be NULL. */
void leaf_sums_labels(const struct report_tree *tree, const struct report_by *wanted,
		      struct report_by *by);

/* Sorts by plane, then by the values' texts and numbers in the order of the dimensions, then by node. No two planes are
 * added. 0; -ENOMEM: *sums is empty. */
int leaf_sums_init(struct leaf_sums *sums, const struct report_tree *tree,
		   const struct report_by *by);
void leaf_sums_fini(struct leaf_sums *sums);

/* Returns the name of a leaf's work without the GPU, "Kernel]gemm" of "[GPU0_Kernel]gemm". *first is the character that
 * stands before it, or NUL if the whole name is returned. Borrowed as name is. */
const char *leaf_sums_name(const char *name, char *first);

/* Returns the value of a dimension alone, such as "3" of "rank3"; NULL: it is not known, or has none. Borrowed
 * until the tree or text goes. text has LEAF_SUMS_TEXT_SIZE bytes. */
const char *leaf_sums_value(const struct report_tree *tree, enum report_dimension dimension,
			    uint32_t value, char *text);

#endif
