/* A job's profile while the profiles of its nodes lie beside its store, in one file (page_set.h). To read it means to
 * merge them. Single-threaded. */
#ifndef WHOLE_PROFILE_H
#define WHOLE_PROFILE_H

#include <limits.h>
#include <stdbool.h>

#define WHOLE_PROFILE_SUFFIX ".nodes" /* behind the store's path, of the file */

struct whole_profile {
	char path[PATH_MAX];      /* of the store to read: the given one, or one in directory */
	char directory[PATH_MAX]; /* "": none was made */
	bool is_written;          /* a process writes the given store */
};

/* Finds the store to read for the one at this path. If profiles of nodes lie beside it, it makes a merged one in
 * $TMPDIR, else /tmp. If the store is written, it first asks for the newest profiles, and waits for them 3 s at most. 0
 * or -errno; on error *error is one line, which the caller owns (free()). Call whole_profile_close() in either case. */
int whole_profile_open(struct whole_profile *whole, const char *store_path, char **error);
void whole_profile_close(struct whole_profile *whole);

/* Puts the profiles of nodes into the store, which nobody writes, and removes their file. It does nothing where there
 * is none. 0 or -errno: the files are as they were, and *error as above. */
int whole_profile_settle(const char *store_path, char **error);

#endif
