/* Explains a profile's idle time while its file is open; part of profile. */
#ifndef PROFILE_IDLE_H
#define PROFILE_IDLE_H

#include "database.h"
#include "profile.h"

/* Folds the idle time of each device whose processes have samples into profile->idle, and counts in idle_left_out what
 * was not kept for it. The collection is loaded. 0, -EPROTO, -EIO, -ENOMEM. */
int profile_idle_load(struct database *database, struct profile *profile);

#endif
