/* Writes what launches and ranges were measured by (report/metrics/report_metrics.h) as tables, in JSON and as CSV. Any
 * thread. */
#ifndef METRICS_WRITER_H
#define METRICS_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/writers/text_table.h"

struct report_tree;

/* Writes an empty line, a heading, and a row for each of the first `top` kernels and launch stacks, with the figures
 * that follow from their metrics. Nothing if none was measured. 0 or -ENOMEM. */
int metrics_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top);

/* Writes these rows, and each metric of them, as a report of its own. top 0: 20 rows. 0; -ENOSPC, -EIO …: out did not
 * take everything; -ENOMEM. */
int metrics_writer_report(FILE *out, const struct report_tree *tree, const struct text_form *form,
			  uint32_t top);

/* Writes the array "kernel_metrics" (docs/json.md), and a comma; nothing if none was measured. 0;
 * -ENOMEM: it is missing. */
int metrics_writer_json(FILE *out, const struct report_tree *tree);

/* Writes a heading, and a line for each metric of each row. 0; -ENOSPC, -EIO …: out did not take everything. */
int metrics_writer_csv(FILE *out, const struct report_tree *tree);

#endif
