/* Writes what kernels waited for (report/digest/stall_rows.h) as a table and in JSON. Any thread. */
#ifndef STALL_WRITER_H
#define STALL_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "text_table.h"

struct report_tree;

/* Writes an empty line and a row for each of the first `top` kernels, with its most frequent reason and its hottest
 * line; nothing if the tree has no samples of them. Then the same for how far both ways of sampling agree, if there are
 * samples of both. 0 or -ENOMEM. */
int stall_writer_kernels(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top);

/* Writes the arrays "sampled_kernels" with all kernels and "sampling_agreement" (docs/json.md), and commas; nothing if
 * the tree has no samples of them, or not of both ways. 0 or -ENOMEM. */
int stall_writer_json(FILE *out, const struct report_tree *tree);

#endif
