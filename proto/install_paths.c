#include "install_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INJECT_NAME "libflamegrid_inject.so"

/* Cuts the last component off; 0 if there was one. */
static int cut_component(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

int install_paths_program(const char *argv0, char path[static PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (size < 0)
		return -errno;
	path[size] = '\0';

	const char *name = strrchr(path, '/');
	if (name && strncmp(name, "/ld-", 4) == 0) {
		/* The tarball's launcher starts us through its own loader and puts our path into argv[0]. */
		if (!realpath(argv0, path))
			return -errno;
	}
	return 0;
}

int install_paths_find(const char *argv0, struct install_paths *paths)
{
	static const char *const folders[] = {"lib", "lib/flamegrid", "lib64/flamegrid"};
	int error = install_paths_program(argv0, paths->root);

	if (error < 0)
		return error;
	if (cut_component(paths->root) < 0 || cut_component(paths->root) < 0)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int size = snprintf(paths->inject, sizeof(paths->inject), "%s/%s/" INJECT_NAME,
				    paths->root, folders[i]);

		if (size < 0 || (size_t)size >= sizeof(paths->inject))
			return -ENAMETOOLONG;
		if (access(paths->inject, R_OK) == 0)
			return 0;
	}
	strcpy(paths->inject, "lib/" INJECT_NAME);
	return -ENOENT;
}

int install_paths_exec(const struct install_paths *paths, const char *name, char *const argv[])
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%s/bin/%s", paths->root, name);

	if (size < 0 || (size_t)size >= sizeof(path))
		return -ENAMETOOLONG;
	execv(path, argv);
	return -errno;
}
