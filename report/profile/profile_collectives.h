/* Calls of collective libraries of a stored profile. They are read on request: each call is a row. Used by one
 * thread. */
#ifndef PROFILE_COLLECTIVES_H
#define PROFILE_COLLECTIVES_H

#include "aggregator/profile/collective_log.h"

/* All of them, as if they had just come. What was stored since a profile was loaded is there, too. 0, or as
 * profile_load(), with *error (owns: free(); it may be NULL) and *log NULL. The caller owns *log. */
int profile_collectives_load(const char *path, struct collective_log **log, char **error);

#endif
