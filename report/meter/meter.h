/* The counters of a GPU whose sums are divided over the stacks of its work (meter_split.h). Each amount is a whole
 * number that adds up: energy, bytes, or a use by time. A second in which half of the multiprocessors had work is half
 * a second of METER_SM. Constant; any thread. */
#ifndef METER_H
#define METER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/device_telemetry.h"

enum meter {
	METER_ENERGY = 0,
	METER_SM = 1,        /* multiprocessors had work */
	METER_OCCUPANCY = 2, /* warps on them, of as many as there can be */
	METER_TENSOR = 3,    /* tensor cores worked */
	METER_DRAM = 4,      /* traffic of the GPU's memory, read and written */
	METER_NVLINK = 5,    /* traffic of all links, sent and received */
	METER_PCIE = 6,
	METERS,
};

enum meter_unit {
	METER_MJ,
	METER_NS, /* of use: a GPU that is wholly used for a nanosecond counts one */
	METER_BYTES,
};

/* A set: 1 << enum meter. */
#define METERS_OF_ENERGY (1u << METER_ENERGY)
#define METERS_OF_USE    (((1u << METERS) - 1) & ~METERS_OF_ENERGY)

/* Returns the name in options and JSON ("tensor"), the member of JSON with its amount ("tensor_ns"), and words for
 * people ("tensor cores"). Static storage. */
const char *meter_name(enum meter meter);
const char *meter_member(enum meter meter);
const char *meter_label(enum meter meter);

enum meter_unit meter_unit(enum meter meter);

/* Returns the amount in a second that is little of this meter, so that smaller errors are none. 0: none is. */
uint64_t meter_little(enum meter meter);

/* Returns whether a GPU has some of it without any work. */
bool meter_has_base(enum meter meter);

/* Tells the amount in a row, and the time for which it is known; 0: it is not. */
void meter_of_row(enum meter meter, const struct device_telemetry *row, uint64_t *known_ns,
		  uint64_t *amount);

#endif
