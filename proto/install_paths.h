/* Finds the other files of this installation beside the running program. So a build tree, an installed prefix and an
 * unpacked tarball work without configuration. Single-threaded. */
#ifndef INSTALL_PATHS_H
#define INSTALL_PATHS_H

#include <limits.h>

struct install_paths {
	char root[PATH_MAX];   /* holds bin/ and lib/ */
	char inject[PATH_MAX]; /* lib/libflamegrid_inject.so */
};

/* The file that starts this program again. That is /proc/self/exe; in the tarball, where /proc/self/exe is the loader,
 * argv0 gives it. 0 or -errno. */
int install_paths_program(const char *argv0, char path[static PATH_MAX]);

/* argv0 as for install_paths_program(). 0; -ENOENT: the injection library is not there (paths->inject is the path at
 * which it was expected); other -errno. */
int install_paths_find(const char *argv0, struct install_paths *paths);

/* Replaces this process by bin/NAME of the installation; returns -errno if that fails. */
int install_paths_exec(const struct install_paths *paths, const char *name, char *const argv[]);

#endif
