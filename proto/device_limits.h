/* What a GPU's multiprocessor has, for theoretical occupancy: as cuDeviceGetAttribute gives it, 0: not known. In
 * definitions, on the wire and in the store in this order. Plain data. */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

#include <assert.h>
#include <stdint.h>

#define DEVICE_LIMITS 13u /* fields */

struct device_limits {
	uint32_t compute_major, compute_minor; /* compute capability */
	uint32_t multiprocessors;
	uint32_t warp_size;
	uint32_t sm_threads; /* of one multiprocessor, as all sm_ */
	uint32_t sm_blocks, sm_registers, sm_shared_bytes;
	uint32_t block_threads; /* the most of one block, as all block_ */
	uint32_t block_registers;
	uint32_t block_shared_bytes; /* without asking for more */
	uint32_t block_shared_optin_bytes;
	uint32_t block_reserved_bytes; /* of shared memory, that the driver takes for itself */
};

static_assert(sizeof(struct device_limits) == DEVICE_LIMITS * sizeof(uint32_t), "an array of it");

#endif
