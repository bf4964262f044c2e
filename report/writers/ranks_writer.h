/* Writes the work of each rank (report_ranks.h). Only the table has shares: all numbers in JSON and CSV are integers.
 * Any thread; the arguments must not change meanwhile. */
#ifndef RANKS_WRITER_H
#define RANKS_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "report/model/report_ranks.h"
#include "report/model/report_tree.h"

struct text_form;

#define RANKS_WRITER_LINE_SIZE 1024u

/* Writes a table for people. Rows that stand out come first, the farthest from the median before the others. More than
 * 16 other rows are one line with the medians. The last lines name the ranks that stand out and what is missing from
 * the profile. 0; -ENOMEM; -ENOSPC, -EIO …: out did not take everything. */
int ranks_writer_table(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree,
		       const struct text_form *form);

/* Writes a document with the members "ranks" and "median_ns", the medians of all ranks. Errors as above. */
int ranks_writer_json(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree);

/* Writes a heading and a line for each row. Errors as above. */
int ranks_writer_csv(FILE *out, const struct report_ranks *ranks);

/* Names in one line, cut to size, the ranks that stand out, by which column and how far from the median: "stands
 * out: rank 5 on node2 GPU1 (busy -10.2 %)". Returns line. */
const char *ranks_writer_line(const struct report_ranks *ranks, char *line, size_t size);

#endif
