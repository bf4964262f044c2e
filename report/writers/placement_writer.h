/* Writes threads that launch from the far socket (report_placement.h), as parts of the reports of ranks. Without rows
 * the table gets no lines. Any thread. */
#ifndef PLACEMENT_WRITER_H
#define PLACEMENT_WRITER_H

#include <stdio.h>

#include "report/model/report_placement.h"

/* Writes lines for people. */
void placement_writer_table(FILE *out, const struct report_placement *placement);

/* Writes the member "far_threads" and a comma behind it; the array is empty without rows. */
void placement_writer_json(FILE *out, const struct report_placement *placement);

#endif
