/* The rows of a profile: sums of work by place, work and stack, and the ledger's lines. Used by one thread. */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "export_journal.h"
#include "export_target.h"

#include "report/view/report_view.h"

/* The options of the view whose rows these are. Constant. */
extern const struct report_options export_rows_options;

/* Makes a round (export_journal.h) of the view's sums. *rows: how many have changed. *fell: work is withheld, since
 * a plane's sum fell, or, in a damaged profile, any sum. kind: whose labels places have; only ClickHouse takes
 * losses. The leaf of a row is its index in the view's tree. 0 or -errno with *error. */
int export_rows_fill(struct export_journal *journal, const struct report_view *view,
		     const char *user, enum export_kind kind, uint64_t *rows, bool *fell,
		     char **error);

#endif
