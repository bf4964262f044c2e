/* A file of `NAME VALUE` lines that only its owner may read: the format of key_set.h and rendezvous.h. Any thread. */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Takes one line that is not empty and not a comment. 0; -ENOENT: no such name; other -errno: *why says what is wrong
 * with the value (static storage). */
typedef int (*key_file_line)(void *context, const char *name, const char *value, const char **why);

/* Reads all lines. The file must be a regular file of this user or of root that nobody else can read or write. shared:
 * if it is root's, its group may read it. 0 or -errno: -EPERM: somebody else owns it or can read it; -EINVAL: a bad
 * line. On error *error is one line that begins with the path; the caller owns it (free(); NULL: out of memory). */
int key_file_read(const char *path, bool shared, key_file_line line, void *context, char **error);

/* Open a new file that only this user can read (0600). key_file_create() makes path itself (-EEXIST: it is there).
 * key_file_replace() makes a temporary file beside it, which key_file_finish() moves to path. 0 or -errno; on error
 * *file is NULL. */
int key_file_create(const char *path, FILE **file);
int key_file_replace(const char *path, FILE **file, char **temporary);

/* Closes the file, and moves temporary (takes it; NULL: none) to path. 0 or -errno: then no file is left. */
int key_file_finish(const char *path, FILE *file, char *temporary);

#endif
