/* How a kernel was launched: what its activity record says. The key of a row of statistics, in definitions, on the wire
 * and in the store in this order; equal bytes are equal configurations. Plain data. */
#ifndef KERNEL_CONFIG_H
#define KERNEL_CONFIG_H

#include <assert.h>
#include <stdint.h>

#define KERNEL_CONFIG_FIELDS 12u

struct kernel_config {
	uint32_t device_id; /* CUDA ordinal */
	uint32_t name_id;   /* of the kernel, in the scope of whoever holds this; 0: lost */
	uint32_t grid_x, grid_y, grid_z;                    /* blocks */
	uint32_t block_x, block_y, block_z;                 /* threads */
	uint32_t static_shared_bytes, dynamic_shared_bytes; /* a block */
	uint32_t registers;                                 /* a thread */
	uint32_t local_bytes;                               /* a thread */
};

static_assert(sizeof(struct kernel_config) == KERNEL_CONFIG_FIELDS * sizeof(uint32_t),
	      "an array of it");

#endif
