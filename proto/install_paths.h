/* Where this installation's other files are: found beside the running program, so that a build tree, an installed
 * prefix and an unpacked tarball all work without configuration. Single-threaded. */
#ifndef INSTALL_PATHS_H
#define INSTALL_PATHS_H

#include <limits.h>

struct install_paths {
	char root[PATH_MAX];   /* holds bin/ and lib/ */
	char inject[PATH_MAX]; /* lib/libflamegrid_inject.so */
};

/* The file that starts this program again: /proc/self/exe. In the tarball that is a loader, and argv0 names the file.
 * 0 or -errno. */
int install_paths_program(const char *argv0, char path[static PATH_MAX]);

/* argv0 is used where the program was started through a loader of its own (the tarball), else /proc/self/exe.
 * 0; -ENOENT: the injection library is not there (paths->inject then names where it was expected); other -errno. */
int install_paths_find(const char *argv0, struct install_paths *paths);

/* Replaces this process by bin/NAME of the installation; returns -errno if that fails. */
int install_paths_exec(const struct install_paths *paths, const char *name, char *const argv[]);

#endif
