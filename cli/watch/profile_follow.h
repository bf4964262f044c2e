/* Follows the profile of a running job from reading to reading, until the job has ended. Single-threaded; SQLite must
 * not have the profile open elsewhere in this process. */
#ifndef PROFILE_FOLLOW_H
#define PROFILE_FOLLOW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "report/profile/whole_profile.h"

struct profile_follow {           /* the caller sets the first two members alone */
	const char *profile_path; /* borrowed; a directory, or a store */
	uint64_t begin_wait_ns;   /* for so long the profile need not be there yet */
	struct whole_profile whole;
	char path[PATH_MAX]; /* of the store */
	bool seen;           /* the profile has been read once */
	bool ran;            /* a process was writing it then */
	uint32_t failures;   /* readings in a row that failed */
	uint64_t written_ns; /* the last time at which a process wrote the profile, or the begin */
};

/* Opens the profile for one reading of the store at whole.path. 0 or -errno with *error, which the caller owns
 * (free()). Call profile_follow_close() in either case. */
int profile_follow_open(struct profile_follow *follow, char **error);

/* Ends the reading, with its status, and asks for a newer state for the next one. Returns 0: there may be a next one;
 * 1: the job has ended; -errno: the profile cannot be read any more. *level: as what *error is to be told; 0: it is
 * not. A reading may fail while an aggregator starts, ends or has a successor: that is told once. */
int profile_follow_close(struct profile_follow *follow, int status, char **error,
			 enum log_level *level);

/* Returns whether the profile is a part of another by time (timeline/slice/profile_slice.h). Call it between readings,
 * after one that succeeded. false, too: the store cannot be read. */
bool profile_follow_is_part(const struct profile_follow *follow);

#endif
