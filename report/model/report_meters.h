/* The meters of GPUs for readers: a row for each GPU, with the classes of work that have the most. Part of
 * report_build; used by one thread. */
#ifndef REPORT_METERS_H
#define REPORT_METERS_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/meter/meter_split.h"

struct report_meters;

/* Makes rows without amounts. planes: of the tree, one of them metered. All is borrowed until destroy. 0; -ENOMEM:
 * *meters may be there. report_meters_destroy() accepts NULL. */
int report_meters_create(const struct profile *profile, const struct metered *metered,
			 struct report_names *names, uint32_t planes,
			 struct report_meters **meters);
void report_meters_destroy(struct report_meters *meters);

/* Returns the plane of leaves. */
enum report_plane report_meters_plane(const struct report_meters *meters);

/* Returns the row that a part's leaf is of, without a histogram: that of its work, or of the idle GPU, or of none. The
 * device of the latter two is the roster's. */
struct fold_row report_meters_leaf(const struct report_meters *meters,
				   const struct meter_part *part);

/* Sets a leaf's kind, amounts and confidences. */
void report_meters_fill(const struct report_meters *meters, const struct meter_part *part,
			struct report_leaf *leaf);

/* Adds a part to its GPU. */
void report_meters_take(struct report_meters *meters, const struct meter_part *part);

/* Returns the rows by host and GPU, which the caller owns: free(). They are taken: destroy() follows. */
struct report_metered_gpu *report_meters_gpus(struct report_meters *meters, uint32_t *nr_gpus);

#endif
