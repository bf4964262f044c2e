/* The resources of GPUs for readers: a row for each GPU, with the classes of work that have the most. Part of
 * report_build; used by one thread. */
#ifndef REPORT_USAGE_H
#define REPORT_USAGE_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/resource/resource_split.h"

struct report_usage;

/* Makes rows without amounts. planes: of the tree, one of them of resources. All is borrowed until destroy. 0; -ENOMEM:
 * *rows may be there. report_usage_destroy() accepts NULL. */
int report_usage_create(const struct profile *profile, const struct resource_usage *usage,
			struct report_names *names, uint32_t planes, struct report_usage **rows);
void report_usage_destroy(struct report_usage *rows);

/* Returns the plane of leaves. */
enum report_plane report_usage_plane(const struct report_usage *rows);

/* Returns the row that a part's leaf is of, without a histogram: that of its work, or of the idle GPU, or of none. The
 * device of the latter two is the roster's. */
struct fold_row report_usage_leaf(const struct report_usage *rows,
				  const struct resource_part *part);

/* Sets a leaf's kind, amounts and confidences. */
void report_usage_fill(const struct report_usage *rows, const struct resource_part *part,
		       struct report_leaf *leaf);

/* Adds a part to its GPU. */
void report_usage_take(struct report_usage *rows, const struct resource_part *part);

/* Returns the rows by host and GPU, which the caller owns: free(). They are taken: destroy() follows. */
struct report_gpu_usage *report_usage_gpus(struct report_usage *rows, uint32_t *nr_gpus);

#endif
