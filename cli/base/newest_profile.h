/* Finds the profile that a user means who names none. Single-threaded. */
#ifndef NEWEST_PROFILE_H
#define NEWEST_PROFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define NEWEST_PROFILE_AGE_SIZE 48u

/* Gets a profile that is newer than the chosen one, and one line that says why it was not chosen. */
typedef void newest_profile_left_out(const char *path, const char *reason);

/* Looks in the directory for profile.db, and for directories that hold one; those whose names begin with a point are
 * left out. Returns how many profiles there are. path is then that of the chosen one, and *age_s the seconds since
 * something wrote to it.
 *   - A profile that can be read, has something in it and is finished comes before one that is still being written, and
 *     that before all others.
 *   - Among these the newest is chosen; of two with the same time the one whose name comes first.
 * tell: NULL: nobody wants to know. */
uint32_t newest_profile_find(const char *directory, newest_profile_left_out *tell,
			     char path[static PATH_MAX], uint64_t *age_s);

/* Finds the newest profile that is being written, as above. false: none is, and path is "". */
bool newest_profile_live(const char *directory, char path[static PATH_MAX]);

/* Writes "5 seconds ago", "1 day ago". Returns text. */
const char *newest_profile_age(uint64_t age_s, char text[static NEWEST_PROFILE_AGE_SIZE]);

#endif
