/* A directory of its own for the merged copy of a profile, or for a part of one, in $TMPDIR, else /tmp. It is locked as
 * long as it is used, so that the copy of a reader that was killed can be told from one in use. Single-threaded. */
#ifndef MERGED_DIR_H
#define MERGED_DIR_H

#include <limits.h>

#define MERGED_DIR_FILE "profile.db"

struct merged_dir { /* zeroed: there is none */
	char path[PATH_MAX];
	int lock;
};

/* Makes a directory, after it has removed those of readers of the same user that were killed on this host. 0 or -errno:
 * *dir is zeroed, and *error is one line, which the caller owns (free()). */
int merged_dir_create(struct merged_dir *dir, char **error);

/* Removes the directory and the copy in it, if there is one, with its timeline. */
void merged_dir_remove(struct merged_dir *dir);

#endif
