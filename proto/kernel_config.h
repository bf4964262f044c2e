/* The configuration of a kernel launch, from its activity record. It is the key of a row of statistics: equal bytes are
 * equal configurations. Definitions, the wire and the store have the fields in this order. Plain data. */
#ifndef KERNEL_CONFIG_H
#define KERNEL_CONFIG_H

#include <assert.h>
#include <stdint.h>

#define KERNEL_CONFIG_FIELDS 12u

struct kernel_config {
	uint32_t device_id; /* CUDA ordinal */
	uint32_t name_id;   /* the kernel's, in the holder's scope (guest, agent, store); 0: lost */
	uint32_t grid_x, grid_y, grid_z;                    /* blocks */
	uint32_t block_x, block_y, block_z;                 /* threads */
	uint32_t static_shared_bytes, dynamic_shared_bytes; /* per block */
	uint32_t registers;                                 /* per thread */
	uint32_t local_bytes;                               /* per thread */
};

static_assert(sizeof(struct kernel_config) == KERNEL_CONFIG_FIELDS * sizeof(uint32_t),
	      "an array of it");

#endif
