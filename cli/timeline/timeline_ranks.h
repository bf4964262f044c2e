/* The ranks that --ranks names, such as "0,8-15". Pure; any thread. */
#ifndef TIMELINE_RANKS_H
#define TIMELINE_RANKS_H

#include <stdint.h>

#define TIMELINE_RANKS_MAX 65536u

/* Takes the option's value, as option_line.h says. context: of a uint8_t *, NULL or what an earlier call set, which
 * becomes TIMELINE_RANKS_MAX bytes, nonzero for each rank that is named; the caller owns them (free()). */
int timeline_ranks_take(void *context, const char *name, const char *value, char **error);

#endif
