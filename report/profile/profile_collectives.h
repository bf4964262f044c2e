/* Reads the calls of collective libraries in a stored profile. They are loaded on request, because many calls are rows.
 * Used by one thread. */
#ifndef PROFILE_COLLECTIVES_H
#define PROFILE_COLLECTIVES_H

#include "aggregator/profile/collective_folds.h"

struct database;

/* Reads the splits of the kernels of all calls, within a transaction of the caller's, into what is empty. 0, -EPROTO,
 * -EIO, -ENOMEM. */
int profile_collectives_splits(struct database *database, struct collective_splits *splits);

/* Reads all calls of a store that profile_load() has found to be whole, and folds those that are not folded yet. Calls
 * that were stored after that are among them. 0, or an error of profile_load() with *error (owns: free(); it may be
 * NULL) and *folds NULL. The caller owns *folds. */
int profile_collectives_load(const char *path, struct collective_folds **folds, char **error);

#endif
