/* Calls of collective libraries as reports show them. Any thread. */
#ifndef COLLECTIVES_WRITER_H
#define COLLECTIVES_WRITER_H

#include <stdio.h>

#include "report/model/report_collectives.h"
#include "report/model/report_tree.h"

/* A table: a line for each communicator and function, top of them at most (0: 20), and the report's closing lines. 0;
 * -ENOSPC, -EIO …: out did not take everything. */
int collectives_writer_table(FILE *out, const struct report_collectives *collectives,
			     const struct report_tree *tree, uint32_t top);

/* Every call, in the order in which they were stored. Likewise. */
int collectives_writer_csv(FILE *out, const struct report_collectives *collectives,
			   const struct report_tree *tree);

/* The sums as a member of an object that is open, with a comma and a newline behind it. */
void collectives_writer_json(FILE *out, const struct report_collectives *collectives);

#endif
