/* Writes findings (report/findings/findings.h) as text and as JSON. Any thread. */
#ifndef FINDINGS_WRITER_H
#define FINDINGS_WRITER_H

#include <stdio.h>

#include "text_table.h"

struct findings;

/* Writes three lines for each finding: what it is, its evidence and threshold, and the cure. Nothing without any. */
void findings_writer_text(FILE *out, const struct findings *findings, const struct text_form *form);

/* Writes "findings":[…], with a comma behind it. */
void findings_writer_json(FILE *out, const struct findings *findings);

#endif
