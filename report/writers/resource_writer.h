/* Writes the resources of GPUs (report/model/report_tree.h) as tables and in JSON. Any thread. */
#ifndef RESOURCE_WRITER_H
#define RESOURCE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "row_text.h"
#include "text_table.h"

#include "report/model/report_tree.h"

#define RESOURCE_TEXT_SIZE 48u

/* Writes a row for each GPU and resource, then one for each of the first `top` kernels of each GPU, with how sure it
 * is. Without readings a line says so. 0 or -ENOMEM. */
int resource_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			  uint32_t top);

/* Writes the array "resources" with a row for each GPU (docs/json.md), and a comma; nothing if the tree has none. */
void resource_writer_json(FILE *out, const struct report_tree *tree);

/* Writes the fields of a leaf, of the resources of the tree's planes; none without such a plane. */
void resource_writer_leaf(struct row_text *out, const struct report_tree *tree,
			  const struct report_leaf *leaf);

/* Writes an amount for people: "1,234.5 J", "12.345 s", "1.2 GiB". text has RESOURCE_TEXT_SIZE. Returns text. */
const char *resource_writer_amount(enum resource resource, uint64_t amount, char *text);

#endif
