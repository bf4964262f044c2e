/* Writes what the stages of a job's pipelines did: they computed, waited, moved data and were idle. Any thread. */
#ifndef STAGES_WRITER_H
#define STAGES_WRITER_H

#include <stdio.h>

#include "report/straggler/report_straggler.h"

/* Writes a table for each step, or of the whole run if steps are not known. Without a pipeline it writes nothing. */
void stages_writer_table(FILE *out, const struct report_straggler *straggler);

/* Writes "pipeline":{…}, or null. */
void stages_writer_json(FILE *out, const struct report_straggler *straggler);

#endif
