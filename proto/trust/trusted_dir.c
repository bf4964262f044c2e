#include "trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether this user namespace has a name for the user. A user without one is shown as nobody. */
static bool is_mapped(uid_t uid)
{
	unsigned long first, outside, count;
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool is_mapped = !map;

	while (map && !is_mapped && fscanf(map, "%lu %lu %lu", &first, &outside, &count) == 3)
		is_mapped = uid >= first && uid - first < count;
	if (map)
		fclose(map);
	return is_mapped;
}

int trusted_dir_check_parent(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	bool is_sticky = status.st_mode & S_ISVTX;
	bool is_trusted = status.st_uid == geteuid() || status.st_uid == 0 ||
			  (is_sticky && !is_mapped(status.st_uid));
	if (!is_trusted)
		return -EPERM;
	return status.st_mode & (S_IWGRP | S_IWOTH) && !is_sticky ? -EPERM : 0;
}

int trusted_dir_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP || errno == EACCES ? -EPERM : -errno;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	    !(status.st_mode & (S_IRWXG | S_IRWXO)))
		return fd;
	close(fd);
	return -EPERM;
}
