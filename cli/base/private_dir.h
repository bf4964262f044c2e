/* A directory for sockets that nobody else can enter: 0700, freshly made, removed at the end. Single-threaded. */
#ifndef PRIVATE_DIR_H
#define PRIVATE_DIR_H

/* Room for the path and a short file name within what a Unix socket's address holds (108 bytes). */
#define PRIVATE_DIR_MAX 80

#define PRIVATE_DIR_PREFIX "flamegrid-run-" /* then six characters that no other has */

struct private_dir {
	char path[PRIVATE_DIR_MAX]; /* "": none */
	int lock; /* holds the directory's lock, by which others know that its owner lives; -1: there are none there */
};

/* Makes it in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: the first in which it works, and in which nobody else could
 * replace it. 0 or -errno of the last. */
int private_dir_create(struct private_dir *dir);

/* Removes it; it must be empty. */
void private_dir_remove(struct private_dir *dir);

#endif
