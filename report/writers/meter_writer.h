/* Writes the energy of GPUs (report/model/report_tree.h) as tables and in JSON. Any thread. */
#ifndef METER_WRITER_H
#define METER_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "text_table.h"

struct report_tree;

/* Writes a row for each GPU, then one for each of the first `top` kernels of each, with how sure its power is. Without
 * energy a line says so. */
void meter_writer_table(FILE *out, const struct report_tree *tree, const struct text_form *form,
			 uint32_t top);

/* Writes the array "energy" with a row for each GPU (docs/json.md), and a comma; nothing if the tree has none. */
void meter_writer_json(FILE *out, const struct report_tree *tree);

#endif
