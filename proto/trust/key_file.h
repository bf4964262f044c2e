/* A file of `NAME VALUE` lines that is for its owner alone, as key_set.h and rendezvous.h have them. Any thread. */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* One line that is not empty and not a comment. 0; -ENOENT: no such name; other -errno: *why says what is wrong with
 * the value (static storage). */
typedef int (*key_file_line)(void *context, const char *name, const char *value, const char **why);

/* Reads all lines. shared: the group may read a file of root's. The file must be a regular one of this user's, or
 * root's, that nobody else can read or write. 0 or -errno, with *error one line that begins with the path, owns: free()
 * (NULL: no memory for it): -EPERM: who owns or can read it; -EINVAL: a bad line. */
int key_file_read(const char *path, bool shared, key_file_line line, void *context, char **error);

/* Opens a new file (0600) that only this user can read: path itself, which must not be there (-EEXIST), or a name
 * beside it that key_file_finish() moves there. 0 or -errno; on error *file is NULL. */
int key_file_create(const char *path, FILE **file);
int key_file_replace(const char *path, FILE **file, char **temporary);

/* Closes it; temporary (taken, may be NULL) gets its name. 0 or -errno: then nothing is left of it. */
int key_file_finish(const char *path, FILE *file, char *temporary);

#endif
