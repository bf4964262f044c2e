/* Where `timeline --steps` and `--kernels` write: into a file, or on standard output, a table on a terminal with its
 * width and colours, one screen at a time. Single-threaded. */
#ifndef TIMELINE_OUTPUT_H
#define TIMELINE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/writers/text_table.h"

/* 0 or -errno. */
typedef int timeline_output_writer(const void *context, const struct text_form *form, FILE *out);

/* path NULL: standard output. Returns the exit status, EXIT_FAILED after a message. */
int timeline_output_write(const char *path, bool is_table, timeline_output_writer *write,
			  const void *context);

#endif
