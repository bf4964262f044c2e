/* Writes late ranks and the causes as JSON and CSV. Any thread; the arguments must not change meanwhile. */
#ifndef STRAGGLER_ROWS_H
#define STRAGGLER_ROWS_H

#include <stdio.h>

#include "report/model/report_tree.h"
#include "report/straggler/report_straggler.h"

/* Each returns 0; -ENOSPC, -EIO …: out did not take everything. */
int straggler_rows_json(FILE *out, const struct report_straggler *straggler,
			const struct report_tree *tree);
int straggler_rows_csv(FILE *out, const struct report_straggler *straggler);

#endif
