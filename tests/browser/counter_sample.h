/* Profiles of a training whose work was measured by counters of GPUs: for the pictures of docs/, with figures that an
 * H200 may have. */
#ifndef COUNTER_SAMPLE_H
#define COUNTER_SAMPLE_H

#include "sample.h"

/* Six kernels below the roofs (run --metrics roofline). */
void counter_sample_roofline(struct sample *sample);

void counter_sample_energy(struct sample *sample); /* --planes energy */
void counter_sample_use(struct sample *sample);    /* --planes use */

#endif
