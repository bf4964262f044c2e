/* What each rank did (report_ranks.h), written out. Shares are in the text alone: all other numbers are integers. Any
 * thread; the arguments must not change meanwhile. */
#ifndef RANKS_WRITER_H
#define RANKS_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "report/model/report_ranks.h"
#include "report/model/report_tree.h"

#define RANKS_WRITER_LINE_SIZE 1024u

/* A table for people, whose last lines say who stands out and what is missing from the profile. 0; -ENOSPC, -EIO …:
 * out did not take everything. */
int ranks_writer_table(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree);

/* A document of its own: "ranks" and, of all of them, "median_ns". As above. */
int ranks_writer_json(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree);

/* A heading, a line a row, and the summary as lines that begin with '#'. As above. */
int ranks_writer_csv(FILE *out, const struct report_ranks *ranks, const struct report_tree *tree);

/* Who stands out, by what and how far from the median, cut to size: "stands out: rank 5 on node2 GPU1 (busy -10.2 %)".
 * Returns line. */
const char *ranks_writer_line(const struct report_ranks *ranks, char *line, size_t size);

#endif
