/* Writes how the hosts' clocks stood to the aggregator's (report_clocks.h). Any thread; the arguments must not
 * change meanwhile. */
#ifndef CLOCKS_WRITER_H
#define CLOCKS_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "report/model/report_clocks.h"
#include "report/model/report_tree.h"

struct text_form;

/* Writes a table for people. 0; -ENOSPC, -EIO …: out did not take everything. */
int clocks_writer_table(FILE *out, const struct report_clocks *clocks,
			const struct report_tree *tree, const struct text_form *form);

/* Writes a document with the member "clocks", in ns and parts per billion, as integers; null: not known. Errors as
 * above. */
int clocks_writer_json(FILE *out, const struct report_clocks *clocks,
		       const struct report_tree *tree);

/* Writes a heading and a line for each host; a field that is not known is empty. Errors as above. */
int clocks_writer_csv(FILE *out, const struct report_clocks *clocks);

/* Says in one line, cut to size, how far the times of several hosts may be apart: "CLOCK_REALTIME of 2 hosts: at
 * most 31.2 us apart". Returns line; it is empty for one host. */
const char *clocks_writer_line(const struct report_clocks *clocks, char *line, size_t size);

#endif
