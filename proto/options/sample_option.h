/* How many samples of running kernels a GPU gives in exact windows, given to the guest in its environment: "100/s".
 * Pure; any thread. */
#ifndef SAMPLE_OPTION_H
#define SAMPLE_OPTION_H

#include <stdint.h>

#include "rate_option.h"

#define SAMPLE_OPTION_ENV "FLAMEGRID_SAMPLE_GPU"
#define SAMPLE_OPTION_MAX 1000000u /* a second */

/* Reads "100/s" or "100". text NULL or empty: 0, which is no window. 0; -EINVAL: it is not a whole number from 1 to
 * SAMPLE_OPTION_MAX. *rate is 0 then. */
static inline int sample_option_parse(const char *text, uint32_t *rate)
{
	*rate = 0;
	return text && *text ? rate_option_parse(text, 1, SAMPLE_OPTION_MAX, rate) : 0;
}

#endif
