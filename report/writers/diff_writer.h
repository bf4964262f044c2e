/* Writes the difference of two ranks as folded stacks with two numbers, as flame graph tools read them: "stack
 * before after", a line for each path, sorted by its bytes. Any thread; the arguments must not change meanwhile. */
#ifndef DIFF_WRITER_H
#define DIFF_WRITER_H

#include <stdio.h>

#include "folded_writer.h"

#include "report/model/report_diff.h"

/* Rounds each number once, half up, and leaves out lines in which both are 0. options->by is ignored. 0; -ENOMEM:
 * nothing was written; -ENOSPC, -EIO …. */
int diff_writer_folded(FILE *out, const struct report_diff *diff,
		       const struct folded_options *options);

#endif
