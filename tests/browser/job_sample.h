/* Samples of a training of many ranks, with all tables: rank 5 computes 15 % longer than the others, which wait for it. A
 * rank has a GPU, and eight are on a node. */
#ifndef JOB_SAMPLE_H
#define JOB_SAMPLE_H

#include "sample.h"

void job_sample_1(struct sample *sample);
void job_sample_8(struct sample *sample);
/* The same 8, of which rank 2 idles 67 %, and does as much work as the others. */
void job_sample_idle(struct sample *sample);
void job_sample_64(struct sample *sample);
void job_sample_512(struct sample *sample);

/* A difference of 8 GPUs against a run before. */
void job_sample_diff(struct sample *sample);

#endif
