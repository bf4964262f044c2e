/* Threads that launch from the far socket (report_placement.h), within the reports of ranks. Without rows nothing is
 * written. Any thread. */
#ifndef PLACEMENT_WRITER_H
#define PLACEMENT_WRITER_H

#include <stdio.h>

#include "report/model/report_placement.h"

/* Lines for people. */
void placement_writer_table(FILE *out, const struct report_placement *placement);

/* A member "far_threads" and a comma behind it; an empty array without rows. */
void placement_writer_json(FILE *out, const struct report_placement *placement);

/* Lines that begin with "# far: ", fields with commas between. */
void placement_writer_csv(FILE *out, const struct report_placement *placement);

#endif
