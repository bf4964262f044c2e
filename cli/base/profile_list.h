/* Lists the profiles of a directory. Any thread. */
#ifndef PROFILE_LIST_H
#define PROFILE_LIST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct listed_profile {
	char path[PATH_MAX], store[PATH_MAX];
	uint64_t time_ns; /* CLOCK_REALTIME; when something wrote to the store last */
};

/* Looks in the directory for profile.db, and for directories that hold one; those whose names begin with a point are
 * left out. The newest one comes first; of two with the same time the one whose name comes first. The caller owns the
 * array (free()); NULL: there are none. */
struct listed_profile *profile_list(const char *directory, uint32_t *nr);

/* Reads when something wrote to a store last; a live profile's newest pages are in the store's log. Returns whether it
 * is a file that is there. */
bool profile_list_time(const char *store, uint64_t *time_ns);

#endif
