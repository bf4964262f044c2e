/* Writes late ranks and the causes as a table. Any thread; the arguments must not change meanwhile. */
#ifndef STRAGGLER_WRITER_H
#define STRAGGLER_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "report/model/report_tree.h"
#include "report/straggler/report_straggler.h"

struct text_form;

/* top is the number of ranks in the table; 0: its default. A verbose table also has the communicators' keys, and the
 * probabilities by which ranks are named. Returns 0; -ENOSPC, -EIO …: out did not take everything. */
int straggler_writer_table(FILE *out, const struct report_straggler *straggler,
			   const struct report_tree *tree, const struct text_form *form,
			   uint32_t top, bool verbose);

#endif
