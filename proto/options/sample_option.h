/* How many samples of running kernels a GPU gives in exact windows, given to the guest in its environment: "100/s".
 * Pure; any thread. */
#ifndef SAMPLE_OPTION_H
#define SAMPLE_OPTION_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SAMPLE_OPTION_ENV "FLAMEGRID_SAMPLE_GPU"
#define SAMPLE_OPTION_MAX 1000000u /* a second */

/* Reads "100/s" or "100". text NULL or empty: 0, which is no window. 0; -EINVAL: it is not a whole number from 1 to
 * SAMPLE_OPTION_MAX. *rate is 0 then. */
static inline int sample_option_parse(const char *text, uint32_t *rate)
{
	uint32_t value = 0;

	*rate = 0;
	if (!text || !*text)
		return 0;
	for (; *text >= '0' && *text <= '9' && value <= SAMPLE_OPTION_MAX; text++)
		value = value * 10 + (uint32_t)(*text - '0');
	if ((*text && strcmp(text, "/s") != 0) || value == 0 || value > SAMPLE_OPTION_MAX)
		return -EINVAL;
	*rate = value;
	return 0;
}

#endif
