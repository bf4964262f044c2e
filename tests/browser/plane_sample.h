/* Profiles with other planes than GPU time. */
#ifndef PLANE_SAMPLE_H
#define PLANE_SAMPLE_H

#include "sample.h"

void plane_sample_all(struct sample *sample); /* of each plane one leaf */

/* One kernel on two GPUs, with the lines of its code within it. */
void plane_sample_stalls(struct sample *sample);
void plane_sample_both_ways(struct sample *sample); /* the same, merged with exact windows */

/* The energy of two kernels, of their idle GPU, and of what nothing explains. */
void plane_sample_energy(struct sample *sample);

/* The bytes of PCIe of a kernel, and those that nothing explains. */
void plane_sample_use(struct sample *sample);

#endif
