/* The resources of a GPU's multiprocessor, for theoretical occupancy: values of cuDeviceGetAttribute, 0: not known.
 * Definitions, the wire and the store have the fields in this order. Plain data. */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

#include <assert.h>
#include <stdint.h>

#define DEVICE_LIMITS 13u /* fields */

struct device_limits {
	uint32_t compute_major, compute_minor; /* compute capability */
	uint32_t multiprocessors;
	uint32_t warp_size;
	uint32_t sm_threads; /* sm_: of one multiprocessor */
	uint32_t sm_blocks, sm_registers, sm_shared_bytes;
	uint32_t block_threads; /* block_: the most that one block may have */
	uint32_t block_registers;
	uint32_t block_shared_bytes;       /* for a kernel that does not opt in to more */
	uint32_t block_shared_optin_bytes; /* for a kernel that opts in */
	uint32_t block_reserved_bytes;     /* shared memory of a block that the driver uses */
};

static_assert(sizeof(struct device_limits) == DEVICE_LIMITS * sizeof(uint32_t), "an array of it");

#endif
