/* How sure the parts of a GPU's energy are. Their sum is exact in any case. Pure; any thread. */
#ifndef ENERGY_CONFIDENCE_H
#define ENERGY_CONFIDENCE_H

#include <stdint.h>

#include "energy.h"

enum energy_confidence {
	ENERGY_LOW, /* a share by time, or one that intervals hardly tell */
	ENERGY_MEDIUM,
	ENERGY_HIGH,
};

/* Returns the one of a class of work. High: the power without work is measured, and three intervals more than there are
 * classes have work. The standard error of the class's power is at most a twentieth, and the fit misses a twentieth at
 * most. A quarter of the class's time lies apart. Medium: the power without work is known, both errors are at most a
 * fifth, and a twentieth lies apart. */
enum energy_confidence energy_confidence_work(const struct energy_device *device, uint32_t class);

/* Returns the one of what the GPU takes without work. */
enum energy_confidence energy_confidence_idle(const struct energy_device *device);

/* Returns the one of what nothing explains: that of what does, at most. */
enum energy_confidence energy_confidence_rest(const struct energy_device *device);

/* Returns "low", "medium" or "high". Static storage. */
const char *energy_confidence_word(enum energy_confidence confidence);

#endif
