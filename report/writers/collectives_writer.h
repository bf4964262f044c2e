/* Writes calls of collective libraries. Any thread. */
#ifndef COLLECTIVES_WRITER_H
#define COLLECTIVES_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "report/model/report_collectives.h"
#include "report/model/report_tree.h"

struct text_form;

/* Writes a table with a line for each communicator and function, at most top of them (0: 20), and the report's
 * closing lines. A verbose table also has the communicators' keys. 0; -ENOSPC, -EIO …: out did not take everything. */
int collectives_writer_table(FILE *out, const struct report_collectives *collectives,
			     const struct report_tree *tree, const struct text_form *form,
			     uint32_t top, bool verbose);

/* Writes every call that has a raw row as CSV, in the order in which the calls were stored. Errors as above. */
int collectives_writer_csv(FILE *out, const struct report_collectives *collectives);

/* Says in one line, cut to size, how many of all calls have such rows; it is empty if all have. Returns line. */
const char *collectives_writer_rows(const struct report_collectives *collectives, char *line,
				    size_t size);

/* Writes the sums as a member of an open object, with a comma and a newline behind it. */
void collectives_writer_json(FILE *out, const struct report_collectives *collectives);

#endif
