/* Reads the calls of collective libraries in a stored profile. They are loaded on request, because each call is a row.
 * Used by one thread. */
#ifndef PROFILE_COLLECTIVES_H
#define PROFILE_COLLECTIVES_H

#include "aggregator/profile/collective_log.h"

/* Reads all calls into a log, as if they had just come. Calls that were stored after a profile was loaded are among
 * them. 0, or an error of profile_load() with *error (owns: free(); it may be NULL) and *log NULL. The caller owns
 * *log. */
int profile_collectives_load(const char *path, struct collective_log **log, char **error);

#endif
