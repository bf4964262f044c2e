/* A profile as comma-separated values (RFC 4180 with plain newlines): a heading, a line a leaf, and
 * the summary as a last line that begins with '#'. What is not known is an empty field. Any thread;
 * the tree must not change meanwhile. */
#ifndef CSV_WRITER_H
#define CSV_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"

/* by: within what the ranks are counted that have a row's activity under its stack (frame_ranks.h), a last column where
 * there is something to tell; NULL: all that is alike. 0; -ENOSPC, -EIO …: out did not take everything; -ENOMEM:
 * nothing was written. */
int csv_writer_write(FILE *out, const struct report_tree *tree, const struct report_by *by);

/* A field, in quotes where it needs them. */
void csv_writer_text(FILE *out, const char *text);

/* A number's field and the comma behind it; empty where it is not known. */
void csv_writer_number(FILE *out, bool known, int64_t number);

#endif
