/* Whether what a file says may be believed: a regular file of this user's or root's that nobody else can write, nor
 * read if it is secret. Any thread. */
#ifndef TRUSTED_FILE_H
#define TRUSTED_FILE_H

enum trusted_file_kind {
	TRUSTED_FILE_PUBLIC, /* others may read it */
	TRUSTED_FILE_SHARED, /* if it is root's, its group may */
	TRUSTED_FILE_SECRET, /* nobody else may */
};

/* By the descriptor, since the name may by then be another file's; path is what it was opened by. 0 or -errno (-EPERM:
 * it may not), with *error one line, owns: free(). */
int trusted_file_check(int fd, const char *path, enum trusted_file_kind kind, char **error);

#endif
