/* Writes what kernels waited for (report/digest/stall_rows.h) as a table and in JSON. Any thread. */
#ifndef STALL_WRITER_H
#define STALL_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "text_table.h"

struct report_tree;

/* Writes an empty line and a row for each of the first `top` kernels, with its most frequent reason and its hottest
 * line; nothing if the tree has no samples of them. 0 or -ENOMEM. */
int stall_writer_kernels(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top);

/* Writes the array "sampled_kernels" with all kernels (docs/json.md), and a comma; nothing if the tree has no samples
 * of them. 0 or -ENOMEM. */
int stall_writer_json(FILE *out, const struct report_tree *tree);

#endif
