/* A difference of two ranks as folded stacks with two numbers, as flame graph tools read them: "stack before after",
 * one line a path, sorted by its bytes. Any thread; the arguments must not change meanwhile. */
#ifndef DIFF_WRITER_H
#define DIFF_WRITER_H

#include <stdio.h>

#include "folded_writer.h"

#include "report/model/report_diff.h"

/* Each number is rounded once, half up; lines with neither are left out. by is not for differences. 0; -ENOMEM: nothing
 * was written; -ENOSPC, -EIO …. */
int diff_writer_folded(FILE *out, const struct report_diff *diff,
		       const struct folded_options *options);

#endif
