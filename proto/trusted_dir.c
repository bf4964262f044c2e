#include "trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int trusted_dir_check_parent(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_mode & S_ISVTX)
		return 0;
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return -EPERM;
	return status.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
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
