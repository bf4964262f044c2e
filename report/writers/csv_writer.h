/* Writes a profile as comma-separated values (RFC 4180 with plain newlines): a heading, a line for each leaf, and
 * the summary as a last line that begins with '#'. A field that is not known is empty. Any thread; the tree must not
 * change meanwhile. */
#ifndef CSV_WRITER_H
#define CSV_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

/* by names the dimensions within which ranks are counted; NULL: over everything. For each row these are the ranks with
 * its activity under its stack (frame_ranks.h). The count is the last column; it is left out if it says nothing. 0;
 * -ENOSPC, -EIO …: out did not take everything; -ENOMEM: nothing was written. */
int csv_writer_write(FILE *out, const struct report_tree *tree, const struct report_by *by);

/* Writes a field, in quotes where it needs them. */
void csv_writer_text(FILE *out, const char *text);

/* Writes a number's field and the comma behind it. The field is empty where the number is not known. */
void csv_writer_number(FILE *out, bool known, int64_t number);

#endif
