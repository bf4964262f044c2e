/* How sure the parts of a GPU's energy are. Their sum is exact in any case. Pure; any thread. */
#ifndef METER_CONFIDENCE_H
#define METER_CONFIDENCE_H

#include <stdint.h>

#include "metered.h"

enum meter_confidence {
	METER_LOW, /* a share by time, or one that intervals hardly tell */
	METER_MEDIUM,
	METER_HIGH,
};

/* Returns the one of a class of work. High: the power without work is measured, and three intervals more than there are
 * classes have work. The standard error of the class's power is at most a twentieth, and the fit misses a twentieth at
 * most. A quarter of the class's time lies apart. Medium: the power without work is known, both errors are at most a
 * fifth, and a twentieth lies apart. */
enum meter_confidence meter_confidence_work(const struct metered_device *device, uint32_t class);

/* Returns the one of what the GPU takes without work. */
enum meter_confidence meter_confidence_idle(const struct metered_device *device);

/* Returns the one of what nothing explains: that of what does, at most. */
enum meter_confidence meter_confidence_rest(const struct metered_device *device);

/* Returns "low", "medium" or "high". Static storage. */
const char *meter_confidence_word(enum meter_confidence confidence);

#endif
