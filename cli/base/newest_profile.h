/* Finds the profile that a user means who names none. Single-threaded. */
#ifndef NEWEST_PROFILE_H
#define NEWEST_PROFILE_H

#include <limits.h>
#include <stdint.h>

#define NEWEST_PROFILE_AGE_SIZE 48u

/* Looks in the directory for profile.db and for directories whose names begin as OUTPUT_DEFAULT and that
 * hold a store. Returns how many profiles there are. path is then that of the newest store's profile, and *age_s the
 * seconds since something wrote to it. Of two with the same time it is the one whose name comes first. */
uint32_t newest_profile_find(const char *directory, char path[static PATH_MAX], uint64_t *age_s);

/* Writes "5 seconds ago", "1 day ago". Returns text. */
const char *newest_profile_age(uint64_t age_s, char text[static NEWEST_PROFILE_AGE_SIZE]);

#endif
