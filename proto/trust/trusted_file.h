/* Decides whether a file's contents may be believed: it is a regular file of this user or of root, and nobody else can
 * write it, or read it if it is secret. Any thread. */
#ifndef TRUSTED_FILE_H
#define TRUSTED_FILE_H

enum trusted_file_kind {
	TRUSTED_FILE_PUBLIC, /* others may read it */
	TRUSTED_FILE_SHARED, /* its group may read it if it is root's */
	TRUSTED_FILE_SECRET, /* nobody else may read it */
};

/* Checks the open file, because path may name another file by now; path is for the message. 0 or -errno (-EPERM: it may
 * not be believed). On error *error is one line, which the caller owns (free()). */
int trusted_file_check(int fd, const char *path, enum trusted_file_kind kind, char **error);

#endif
