/* Computes theoretical occupancy: how many blocks of a launch fit into one multiprocessor at once. It follows NVIDIA's
 * rules for compute capability 7.0 to 12.x (CUDA C++ Programming Guide, "Compute Capabilities"; the occupancy
 * calculator and cuda_occupancy.h for the granularities):
 *	- registers are given to whole warps in units of 256; each of a multiprocessor's four partitions has a
 *	  quarter of them, and warps go to the partitions in turn;
 *	- shared memory is given in units of 256 bytes (7.x) or 128 bytes (from 8.0), including the driver's own
 *	  share of each block.
 * Like cudaOccupancyMaxActiveBlocksPerMultiprocessor, it assumes that all memory that may be shared memory is. It
 * ignores clusters and block barriers. Pure. */
#ifndef OCCUPANCY_H
#define OCCUPANCY_H

#include <stdint.h>

#include "proto/device_limits.h"

enum occupancy_limit { /* a set */
		       OCCUPANCY_WARPS = 1u << 0,
		       OCCUPANCY_BLOCKS = 1u << 1,
		       OCCUPANCY_REGISTERS = 1u << 2,
		       OCCUPANCY_SHARED = 1u << 3,
};

struct occupancy_launch {
	uint64_t block_threads;
	uint32_t registers;    /* of a thread */
	uint64_t shared_bytes; /* static and dynamic, of a block */
};

struct occupancy {
	uint32_t blocks;    /* that fit into one multiprocessor; 0: such a block cannot run */
	uint32_t warps;     /* of these blocks */
	uint32_t warps_max; /* of the multiprocessor */
	/* a set of enum occupancy_limit: everything that allows no more blocks */
	uint32_t limits;
};

/* 0; -EINVAL: there are no threads; -ENOTSUP: the limits are not known, or the compute capability is below 7.0. On
 * error *occupancy is zeroed. */
int occupancy_of(const struct device_limits *limits, const struct occupancy_launch *launch,
		 struct occupancy *occupancy);

/* Writes "registers", or "registers, shared memory"; "" for an empty set. text: 64 bytes at least. Returns text. */
const char *occupancy_limits_text(uint32_t limits, char *text);

#endif
