/* The energy of GPUs for readers: a row for each GPU, with the kernels that took the most. Part of report_build; used
 * by one thread. */
#ifndef REPORT_METER_H
#define REPORT_METER_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/meter/meter_split.h"

struct report_meter;

/* Makes rows without energy. All is borrowed until destroy. 0; -ENOMEM: *rows may be there. report_meter_destroy()
 * accepts NULL. */
int report_meter_create(const struct profile *profile, const struct metered *energy,
			 struct report_names *names, struct report_meter **rows);
void report_meter_destroy(struct report_meter *rows);

/* Returns the row that a part's leaf is of, without a histogram: that of its work, or of the idle GPU, or of none. The
 * device of the latter two is the roster's. */
struct fold_row report_meter_leaf(const struct meter_part *part);

/* Adds a part to its GPU. */
void report_meter_take(struct report_meter *rows, const struct meter_part *part);

/* Returns the rows by host and GPU, which the caller owns: free(). They are taken: destroy() follows. */
struct report_meter_row *report_meter_rows(struct report_meter *rows, uint32_t *nr_rows);

#endif
