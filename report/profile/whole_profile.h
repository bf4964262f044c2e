/* A job's profile while it consists of several files (profile_parts.h). To read it means to merge them.
 * Single-threaded. */
#ifndef WHOLE_PROFILE_H
#define WHOLE_PROFILE_H

#include <limits.h>
#include <stdbool.h>

#include "merged_dir.h"

struct whole_profile {
	char path[PATH_MAX];      /* of the store to read: the given one, or the one in merged */
	struct merged_dir merged; /* owns */
	bool is_written;          /* a process writes the given store */
};

/* Finds the store to read for the one at this path. If the profile has further parts, it makes a merged one
 * (merged_dir.h). has_timelines: with its timeline beside it. If a part is written, it first asks for the newest
 * profiles of nodes, and waits for them 3 s at most. 0 or -errno; on error *error is one line, which the caller owns
 * (free()). Call whole_profile_close() in either case. */
int whole_profile_open(struct whole_profile *whole, const char *store_path, bool has_timelines,
		       char **error);
void whole_profile_close(struct whole_profile *whole);

/* The store at whole->path could not be read. Makes one that can, at another whole->path, as a merge does
 * (merge_salvage.h). 0; -EPROTO: there is none. */
int whole_profile_salvage(struct whole_profile *whole);

/* Returns whether the process that wrote this store has closed it, and none writes it now. */
bool whole_profile_is_closed(const char *store_path);

/* Merges all parts into the store, and removes them. A part that a process writes stays. The store may be a part
 * itself: then its own nodes' profiles become one with it. 1: parts were merged; 0: there
 * was the store alone; or -errno, and *error as above: nothing is lost, but parts may still be files of their own. */
int whole_profile_settle(const char *store_path, char **error);

#endif
