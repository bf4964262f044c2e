/* Makes a directory for sockets that no other user can enter: mode 0700, freshly made, removed at the end.
 * Single-threaded. */
#ifndef PRIVATE_DIR_H
#define PRIVATE_DIR_H

/* Leaves room for the path and a short file name in a Unix socket's address (108 bytes). */
#define PRIVATE_DIR_MAX 80

/* six characters follow, different for each directory */
#define PRIVATE_DIR_PREFIX "flamegrid-run-"

struct private_dir {
	char path[PRIVATE_DIR_MAX]; /* "": none */
	/* holds the directory's lock, which shows that its owner lives; -1: there is no lock */
	int lock;
};

/* Makes the directory in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: in the first where that works, and where no other
 * user could replace it. 0 or -errno of the last. */
int private_dir_create(struct private_dir *dir);

/* Removes the directory, which must be empty. */
void private_dir_remove(struct private_dir *dir);

#endif
