/* Writes one state of `flamegrid top`: a table of text, or a document of JSON (top_report of docs/json.md). One
 * thread. */
#ifndef TOP_WRITER_H
#define TOP_WRITER_H

#include <stdio.h>

#include "top_view.h"

/* Writes the view's lines, as many as there are, however many the terminal has. 0 or -ENOMEM. */
int top_writer_text(FILE *out, struct top_view *view);

void top_writer_json(FILE *out, const struct top_sums *sums, const struct top_facts *facts);

#endif
