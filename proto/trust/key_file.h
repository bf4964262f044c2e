/* A file of `NAME VALUE` lines: the format of key_set.h, user_keys.h and rendezvous.h. Any thread. */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stdio.h>

#include "trusted_file.h"

/* Takes one line that is not empty and not a comment. 0; -ENOENT: no such name; other -errno: *why says what is wrong
 * with the value (static storage). */
typedef int (*key_file_line)(void *context, const char *name, const char *value, const char **why);

/* Reads all lines of a file that may be believed (trusted_file.h). 0 or -errno: -EPERM: somebody else owns it, or has
 * rights that the kind does not allow; -EINVAL: a bad line. On error *error is one line that begins with the path; the
 * caller owns it (free(); NULL: out of memory). */
int key_file_read(const char *path, enum trusted_file_kind kind, key_file_line line, void *context,
		  char **error);

/* Open a new file that only this user can read (0600). key_file_create() makes path itself (-EEXIST: it is there).
 * key_file_replace() makes a temporary file beside it, which key_file_finish() moves to path. 0 or -errno; on error
 * *file is NULL. */
int key_file_create(const char *path, FILE **file);
int key_file_replace(const char *path, FILE **file, char **temporary);

/* Closes the file, and moves temporary (takes it; NULL: none) to path. 0 or -errno: then no file is left. */
int key_file_finish(const char *path, FILE *file, char *temporary);

#endif
