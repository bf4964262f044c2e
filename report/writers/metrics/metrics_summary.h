/* Says in one line what was measured (run --metrics), or why nothing was. Any thread. */
#ifndef METRICS_SUMMARY_H
#define METRICS_SUMMARY_H

#include <stdio.h>

struct report_tree;

/* Writes the line behind a prefix. Nothing if nothing was measured. */
void metrics_summary_line(FILE *out, const struct report_tree *tree, const char *prefix);

/* Writes the line of a profile without measurements, and why it has none (report_refusal.h). */
void metrics_summary_none(FILE *out, const struct report_tree *tree);

#endif
