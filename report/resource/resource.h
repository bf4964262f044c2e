/* The resources of a GPU whose use is divided over the stacks of its work (resource_split.h). Each amount is a whole
 * number that adds up: energy, bytes, or a use by time. A second in which half of the multiprocessors had work is half
 * a second of RESOURCE_SM. Constant; any thread. */
#ifndef RESOURCE_H
#define RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/device_telemetry.h"

enum resource {
	RESOURCE_ENERGY = 0,
	RESOURCE_SM = 1,        /* multiprocessors had work */
	RESOURCE_OCCUPANCY = 2, /* warps on them, of as many as there can be */
	RESOURCE_TENSOR = 3,    /* tensor cores worked */
	RESOURCE_DRAM = 4,      /* traffic of the GPU's memory, read and written */
	RESOURCE_NVLINK = 5,    /* traffic of all links, sent and received */
	RESOURCE_PCIE = 6,
	RESOURCES,
};

enum resource_unit {
	RESOURCE_MJ,
	RESOURCE_NS, /* of use: a GPU that is wholly used for a nanosecond counts one */
	RESOURCE_BYTES,
};

/* A set: 1 << enum resource. */
#define RESOURCES_OF_ENERGY (1u << RESOURCE_ENERGY)
#define RESOURCES_OF_USE    (((1u << RESOURCES) - 1) & ~RESOURCES_OF_ENERGY)

/* Returns the name in options and JSON ("tensor"), the member of JSON with its amount ("tensor_ns"), and words for
 * people ("tensor cores"). Static storage. */
const char *resource_name(enum resource resource);
const char *resource_member(enum resource resource);
const char *resource_label(enum resource resource);

enum resource_unit resource_unit(enum resource resource);

/* Returns the amount in a second that is little of this resource, so that smaller errors are none. 0: none is. */
uint64_t resource_little(enum resource resource);

/* Returns whether a GPU has some of it without any work. */
bool resource_has_base(enum resource resource);

/* Tells the amount in a row, and the time for which it is known; 0: it is not. */
void resource_of_row(enum resource resource, const struct device_telemetry *row, uint64_t *known_ns,
		     uint64_t *amount);

#endif
