/* The rates at which classes of work use each resource of each GPU, fitted over rows of telemetry or over samples of
 * counters. Used by one thread. */
#ifndef RESOURCE_RATES_H
#define RESOURCE_RATES_H

#include <stdint.h>

#include "resource_usage.h"

/* Reads what the store of a loaded profile has of resources, a set, and fits the rates. 0; -EPROTO, -EIO, -ENOMEM:
 * *usage is empty. Call resource_usage_fini() in either case. */
int resource_rates_make(struct resource_usage *usage, uint32_t resources,
			const struct profile *profile, const char *store_path);

#endif
