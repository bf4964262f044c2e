/* Asks a stored profile for single pieces of work that were kept with their times (aggregator/profile/kept_log.h).
 * Single-threaded. */
#ifndef PROFILE_KEPT_H
#define PROFILE_KEPT_H

#include <stdbool.h>

struct database;

/* *has: whether GPU work is kept. It never is in stores before schema version 11. 0, or an error of database.h. */
int profile_kept_has_gpu(struct database *database, bool *has);

#endif
