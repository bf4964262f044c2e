/* GPUs' UUIDs as nvidia-smi and NVIDIA's DCGM exporter write them. Any thread. */
#ifndef GPU_UUID_H
#define GPU_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#define GPU_UUID_TEXT_SIZE 41u /* bytes: "GPU-", 32 digits, 4 hyphens, NUL */

/* Returns whether the GPU of this name is a MIG instance: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". */
bool gpu_uuid_is_part(const char *name, uint32_t size);

/* Writes "GPU-…", or "MIG-…" of a MIG instance; zeros, which are no UUID, are "". */
void gpu_uuid_text(const uint8_t uuid[static WIRE_UUID_SIZE], bool is_part,
		   char text[static GPU_UUID_TEXT_SIZE]);

#endif
