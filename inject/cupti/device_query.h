/* Asks the driver which GPUs the process's CUDA ordinals are, and for the properties of their multiprocessors. Call it
 * on the helper thread only: outside of callbacks, and after CUPTI's CU_INIT_FINISHED. */
#ifndef DEVICE_QUERY_H
#define DEVICE_QUERY_H

#include <stdint.h>

struct definition_writer;

/* Defines each device. Returns the number of devices; -ENOENT: the process maps no libcuda, or one without these
 * functions; -EIO: the driver does not answer yet; -ENOSPC: the definition lane is full. */
int device_query_define(struct definition_writer *writer);

/* What a device's sampling clock depends on; 0: not known. */
struct device_query_speed {
	uint32_t clock_khz, compute_major;
};

/* ordinal: CUDA's. */
struct device_query_speed device_query_speed(uint32_t ordinal);

/* Returns the number of GPUs in whose primary contexts the process works; 0: none, or not known. Creates no context. */
int device_query_contexts(void);

#endif
