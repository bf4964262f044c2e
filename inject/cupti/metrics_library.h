/* Holds CUPTI's functions for metrics, resolved one by one. Each takes one struct of metrics_abi.h, and returns a
 * CUptiResult. Filled once; then constant. */
#ifndef METRICS_LIBRARY_H
#define METRICS_LIBRARY_H

#include <stdbool.h>

#include "metrics_abi.h"

enum metrics_function {
	METRICS_HOST_INITIALIZE,
	METRICS_HOST_DEINITIALIZE,
	METRICS_HOST_CHIPS,
	METRICS_HOST_BASE_METRICS,
	METRICS_HOST_PROPERTIES,
	METRICS_HOST_ADD,
	METRICS_HOST_CONFIG_SIZE,
	METRICS_HOST_CONFIG,
	METRICS_HOST_PASSES,
	METRICS_HOST_EVALUATE,
	METRICS_INITIALIZE, /* from here on a driver is needed */
	METRICS_CHIP,
	METRICS_AVAILABILITY,
	METRICS_ENABLE,
	METRICS_DISABLE,
	METRICS_COUNTERS_SIZE,
	METRICS_COUNTERS,
	METRICS_COUNTED,
	METRICS_SET,
	METRICS_START,
	METRICS_STOP,
	METRICS_PUSH,
	METRICS_POP,
	METRICS_DECODE,
	METRICS_FUNCTIONS,
};

struct metrics_library {
	bool is_whole; /* CUPTI has all functions */
	int (*call[METRICS_FUNCTIONS])(void *params);
};

/* Resolves the functions of a CUPTI that dlopen() mapped. */
void metrics_library_resolve(void *handle, struct metrics_library *library);

#endif
