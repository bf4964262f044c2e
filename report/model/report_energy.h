/* The energy of GPUs for readers: a row for each GPU, with the kernels that took the most. Part of report_build; used
 * by one thread. */
#ifndef REPORT_ENERGY_H
#define REPORT_ENERGY_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/energy/energy_split.h"

struct report_energy;

/* Makes rows without energy. All is borrowed until destroy. 0; -ENOMEM: *rows may be there. report_energy_destroy()
 * accepts NULL. */
int report_energy_create(const struct profile *profile, const struct energy *energy,
			 struct report_names *names, struct report_energy **rows);
void report_energy_destroy(struct report_energy *rows);

/* Returns the row that a part's leaf is of, without a histogram: that of its work, or of the idle GPU, or of none. The
 * device of the latter two is the roster's. */
struct fold_row report_energy_leaf(const struct energy_part *part);

/* Adds a part to its GPU. */
void report_energy_take(struct report_energy *rows, const struct energy_part *part);

/* Returns the rows by host and GPU, which the caller owns: free(). They are taken: destroy() follows. */
struct report_energy_row *report_energy_rows(struct report_energy *rows, uint32_t *nr_rows);

#endif
