/* Decides whether a guest records collectives: "on" (the default) or "off", given to it in its environment. Pure; any
 * thread. */
#ifndef COLLECTIVES_OPTION_H
#define COLLECTIVES_OPTION_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define COLLECTIVES_OPTION_ENV "FLAMEGRID_COLLECTIVES"

/* text NULL or empty: the default. 0; -EINVAL: neither of the two, and *on is the default. */
static inline int collectives_option_parse(const char *text, bool *on)
{
	*on = true;
	if (!text || !*text || strcmp(text, "on") == 0)
		return 0;
	if (strcmp(text, "off") != 0)
		return -EINVAL;
	*on = false;
	return 0;
}

#endif
