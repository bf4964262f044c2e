/* A number of samples a second, as options say it: "100/s", or "100". Pure; any thread. */
#ifndef RATE_OPTION_H
#define RATE_OPTION_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Reads a whole number from least to most; most is below 100 million. 0; -EINVAL: it is none, and *rate is 0. */
static inline int rate_option_parse(const char *text, uint32_t least, uint32_t most, uint32_t *rate)
{
	uint32_t value = 0;

	*rate = 0;
	for (; *text >= '0' && *text <= '9' && value <= most; text++)
		value = value * 10 + (uint32_t)(*text - '0');
	if ((*text && strcmp(text, "/s") != 0) || value < least || value > most)
		return -EINVAL;
	*rate = value;
	return 0;
}

#endif
