/* Builds a report tree (report_tree.h) from a profile. Used by one thread. */
#ifndef REPORT_BUILD_H
#define REPORT_BUILD_H

#include <stdbool.h>

#include "report_memory.h"
#include "report_names.h"
#include "report_paths.h"
#include "report_split.h"
#include "report_tree.h"

#include "report/names/demangle.h"
#include "report/profile/profile.h"
#include "report/resource/resource_usage.h"

/* An activity whose place in the tree is wanted, whether or not there is a leaf of it. */
struct report_piece {
	struct fold_key key;
	uint32_t node, name; /* set by report_tree_build(): as those of its leaf */
};

struct report_options {
	enum demangle_mode demangle;
	enum report_lines lines;
	struct report_paths_view view;
	enum report_nccl nccl;
	bool steps;                /* leaves name the kinds of an inference server's steps */
	enum report_memory memory; /* the memory that the leaves show in place of planes */
	const struct resource_usage
		*usage; /* of the profile, for planes of resources; borrowed; NULL: it has none */
	/* planes whose leaves are wanted: a set, 1 << enum report_plane; 0: GPU work */
	uint32_t planes;
	/* From so many leaves on, those that differ in a dimension alone become one: first threads and contexts, then
	 * streams, ranks, hosts and jobs. 0: never. */
	uint32_t leaves_most;
	uint32_t leaves_kept;        /* never given up: a set, 1 << enum report_dimension */
	struct report_piece *pieces; /* borrowed until report_tree_build() returns; of GPU work */
	uint32_t nr_pieces;
};

/* The leaves of a page or of folded text: a page of 30 MB, 200 MB of memory. */
#define REPORT_LEAVES_MOST (1u << 21)
/* The leaves of JSON and CSV, which have a row for each: about 1 KB a row, so 35 MB. Also those of tables, which show
 * sums alone. */
#define REPORT_ROWS_MOST (1u << 15)

/* options NULL: everything is 0. The tree borrows nothing from the profile. 0; -EPROTO: the profile names things that
 * it does not hold; -ENOMEM. On error *tree is NULL. */
int report_tree_build(const struct profile *profile, const struct report_options *options,
		      struct report_tree **tree);
void report_tree_destroy(struct report_tree *tree); /* only of report_tree_build(); accepts NULL */

#endif
