/* How often the late stage or rank of made pipelines (tests/report/straggler/straggler_parallel.h) is named rightly. */
#ifndef LATE_PIPELINE_H
#define LATE_PIPELINE_H

#include <stdint.h>

/* Prints a row of late_bench's first table for each kind of job. */
void late_pipeline_run(uint32_t jobs, uint64_t first_seed);

#endif
