/* How sure the parts of a GPU's amounts are. Their sum is exact in any case. Pure; any thread. */
#ifndef RESOURCE_CONFIDENCE_H
#define RESOURCE_CONFIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "resource_usage.h"

/* If samples of counters and telemetry differ by more than this share, one of them is wrong: all is low. */
#define RESOURCE_MISMATCH 0.2

enum resource_confidence {
	RESOURCE_LOW, /* a share by time, or one that intervals hardly tell */
	RESOURCE_MEDIUM,
	RESOURCE_HIGH,
};

/* Returns the confidence in the rate of a class of work. High: the idle rate is measured, and three intervals more
 * than there are classes have work. The standard error of the class's rate is at most a twentieth, and the fit
 * misses a twentieth at most. A quarter of the class's time lies apart. Medium: the idle rate is known, both
 * errors are at most a fifth, and a twentieth lies apart. The error is compared with the rate of the class, or of
 * all work, or with resource_little(), whichever is the largest. It is at most the confidence in the rest, and low of
 * a rate that cannot be (resource_confidence_is_above()). */
enum resource_confidence resource_confidence_work(const struct resource_usage_device *device,
						  enum resource resource, uint32_t class);

/* Returns whether a rate is above all that there is of a use, by more than the error of a sure fit. Of energy and bytes
 * none is. */
bool resource_confidence_is_above(enum resource resource, double rate);

/* Returns the confidence in the idle rate. */
enum resource_confidence resource_confidence_idle(const struct resource_usage_device *device,
						  enum resource resource);

/* Returns the one of what nothing explains. It depends on what the fit misses in intervals, on the idle rate, and on
 * how much of the amount it is: a twentieth at most is high, a fifth at most is medium. */
enum resource_confidence resource_confidence_rest(const struct resource_usage_device *device,
						  enum resource resource);

/* Returns "low", "medium" or "high". Static storage. */
const char *resource_confidence_word(enum resource_confidence confidence);

#endif
