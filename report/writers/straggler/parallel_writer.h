/* Writes what the stages of a job's pipelines did: they computed, waited, moved data and were idle. Also writes how
 * evenly ranks work between exchanges of all with all. Any thread. */
#ifndef PARALLEL_WRITER_H
#define PARALLEL_WRITER_H

#include <stdio.h>

#include "report/straggler/report_straggler.h"

/* Writes a table of stages, for each step or of the whole run if steps are not known, and a line for each late expert
 * and each imbalance. Where there is nothing of it, it writes nothing. */
void parallel_writer_table(FILE *out, const struct report_straggler *straggler);

/* Writes "pipeline":{…}, or null, and "experts":[…]. */
void parallel_writer_json(FILE *out, const struct report_straggler *straggler);

#endif
