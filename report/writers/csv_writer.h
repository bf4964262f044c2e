/* Writes a profile as comma-separated values (RFC 4180 with plain newlines): a heading, and a line for each leaf. A
 * field that is not known is empty. Numbers are whole, so that readers keep them exact. The summary is the caller's to
 * say elsewhere. Any thread; the tree must not change meanwhile. */
#ifndef CSV_WRITER_H
#define CSV_WRITER_H

#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

/* by names the dimensions within which ranks are counted; NULL: over everything. For each row these are the ranks with
 * its activity under its stack (frame_ranks.h). The count is the last column; it is left out if it says nothing. 0;
 * -ENOSPC, -EIO …: out did not take everything; -ENOMEM: nothing was written. */
int csv_writer_write(FILE *out, const struct report_tree *tree, const struct report_by *by);

#endif
