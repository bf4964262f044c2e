/* Decides how many launches a guest's meter reads: "full" (all) or "sampled" (one in 64, the default), given to it in
 * its environment. Pure; any thread. */
#ifndef METER_OPTION_H
#define METER_OPTION_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define METER_OPTION_ENV "FLAMEGRID_METER"

/* text NULL or empty: the default. 0; -EINVAL: neither of the two, and *full is the default. */
static inline int meter_option_parse(const char *text, bool *full)
{
	*full = text && strcmp(text, "full") == 0;
	return *full || !text || !*text || strcmp(text, "sampled") == 0 ? 0 : -EINVAL;
}

#endif
