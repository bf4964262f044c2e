/* Reads the newest calls of collective libraries in a stored profile, and the names of the processes that made them: a
 * small part of the profile, for a look at a job that runs. Used by one thread. */
#ifndef PROFILE_RECENT_H
#define PROFILE_RECENT_H

#include <stdint.h>

#include "aggregator/profile/collective_folds.h"
#include "report/profile/profile.h"

struct profile_recent {
	/* owns; only catalog and roster have contents; of ledgers only what straggler_absence.h needs */
	struct profile *profile;
	struct collective_folds *calls; /* owns; raw rows alone, nothing is folded */
};

/* window_ns, least: as of store_collectives_read_newest(). 0, or an error of profile_load() with *error (owns: free();
 * it may be NULL). Call profile_recent_fini() in either case. */
int profile_recent_load(const char *path, uint64_t window_ns, uint32_t least,
			struct profile_recent *recent, char **error);
void profile_recent_fini(struct profile_recent *recent);

#endif
