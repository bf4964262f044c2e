/* The most that the guest may cost the launching threads, given to it in its environment: a percentage of their time
 * such as "2%" or "0.5". Pure; any thread. */
#ifndef COST_OPTION_H
#define COST_OPTION_H

#include <errno.h>
#include <stdint.h>

#define COST_OPTION_ENV "FLAMEGRID_MAX_COST"
#define COST_OPTION_ALL 100000u /* 100 %, in thousandths of a percent */

/* *share is in thousandths of a percent. text NULL or empty: 0, which is no limit. 0; -EINVAL: it is not above 0 and
 * up to 100, with up to three digits behind the point. *share is 0 then. */
static inline int cost_option_parse(const char *text, uint32_t *share)
{
	uint32_t value = 0, unit = 1000;

	*share = 0;
	if (!text || !*text)
		return 0;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9' && value <= COST_OPTION_ALL; text++)
		value = value * 10 + (uint32_t)(*text - '0') * 1000;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
			unit /= 10;
			value += (uint32_t)(*text - '0') * unit;
		}
	if (*text == '%')
		text++;
	if (*text || value == 0 || value > COST_OPTION_ALL)
		return -EINVAL;
	*share = value;
	return 0;
}

#endif
