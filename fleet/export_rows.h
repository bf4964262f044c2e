/* The rows of a profile: sums of work by place, work and stack, and the ledger's lines. Used by one thread. */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "export_journal.h"

#include "report/view/report_view.h"

/* The options of the view whose rows these are. Constant. */
extern const struct report_options export_rows_options;

/* Makes a round (export_journal.h) of the view's sums. *rows: how many have changed. *fell: work is withheld, since a
 * plane's sum fell, or, in a damaged profile, any sum. 0 or -errno with *error. */
int export_rows_fill(struct export_journal *journal, const struct report_view *view,
		     const char *user, uint64_t *rows, bool *fell, char **error);

/* Is the export_stack_write of these rows; context: the view's tree. */
int export_rows_write_stack(void *tree, FILE *out, uint32_t node);

#endif
