/* What the counters of a GPU say of its work and its traffic: NVML's GPM, of Hopper and later. Two samples have a
 * difference, so nothing between them is missed. No right is needed but NVML's own, and other readers, such as DCGM and
 * Nsight, are not disturbed. Only nvml_gpm.c knows this part of NVML's interface. Any thread, but one at a time. */
#ifndef NVML_GPM_H
#define NVML_GPM_H

#include "nvml_library.h"

struct nvml_gpm;

/* Prepares samples of a GPU. The caller owns *gpm, and destroys it before it closes the library. Returns enum
 * telemetry_refusal; *gpm is NULL, as for each but TELEMETRY_ANSWERS. TELEMETRY_NOT_SUPPORTED: the GPU or the driver
 * has no GPM. */
uint32_t nvml_gpm_create(const struct nvml_library *library, struct nvml_device *device,
			 struct nvml_gpm **gpm);
void nvml_gpm_destroy(struct nvml_gpm *gpm); /* accepts NULL */

/* Takes a sample. The first one has no difference. It takes two calls. A value that cannot be is not known: one that is
 * negative, no number, ten times all the time, or faster than any link. A use a little above all the time is all of
 * it. */
void nvml_gpm_read(struct nvml_gpm *gpm, struct nvml_gpm_reading *reading);

#endif
