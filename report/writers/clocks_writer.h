/* How hosts' clocks stood to the aggregator's (report_clocks.h), written out. Any thread; the arguments must not change
 * meanwhile. */
#ifndef CLOCKS_WRITER_H
#define CLOCKS_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "report/model/report_clocks.h"
#include "report/model/report_tree.h"

#define CLOCKS_WRITER_LINE_SIZE 256u

/* A table for people. 0; -ENOSPC, -EIO …: out did not take everything. */
int clocks_writer_table(FILE *out, const struct report_clocks *clocks,
			const struct report_tree *tree);

/* A document of its own: "clocks" in ns and parts per billion, as integers; null: not known. As above. */
int clocks_writer_json(FILE *out, const struct report_clocks *clocks,
		       const struct report_tree *tree);

/* A heading and a line a host; what is not known is an empty field. As above. */
int clocks_writer_csv(FILE *out, const struct report_clocks *clocks,
		      const struct report_tree *tree);

/* In one line, cut to size, what times of several hosts are worth: "CLOCK_REALTIME of 2 hosts: at most 31.2 us apart".
 * Returns line; of one host it is empty. */
const char *clocks_writer_line(const struct report_clocks *clocks, char *line, size_t size);

#endif
