/* The leaves of a tree while it is built. Rows whose stacks and names look equal become one leaf. If there would be too
 * many, leaves that differ in a dimension alone become one, too. Part of report_build; used by one thread. */
#ifndef REPORT_LEAVES_H
#define REPORT_LEAVES_H

#include <stdint.h>

#include "report_dimension.h"
#include "report_tree.h"

#include "aggregator/core/fold_table.h"
#include "base/hash_index.h"

/* Zeroed memory is empty and has no limit. The caller may set most and kept before the first leaf. */
struct report_leaves {
	struct report_leaf *leaves; /* owns */
	uint32_t nr_leaves, room;
	uint32_t most; /* from here on dimensions are given up; 0: never */
	uint32_t kept; /* dimensions that are never given up: a set, 1u << enum report_dimension */
	uint32_t given_up;       /* a set as above */
	uint32_t next;           /* what is given up next */
	struct hash_index index; /* index of a leaf + 1 */
};

/* Adds the leaf, or its count, ns and bytes to the equal one, and the histogram of the row that it was made of. The
 * leaf's own one is empty. All bytes of the leaf count, so zero it before. 0 or -ENOMEM. */
int report_leaves_add(struct report_leaves *leaves, const struct report_leaf *leaf,
		      const struct fold_row *row);
/* Frees leaves that are in no table any more. Accepts NULL. */
void report_leaves_free(struct report_leaf *leaves, uint32_t nr_leaves);
void report_leaves_fini(struct report_leaves *leaves);

#endif
