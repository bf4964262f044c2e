#include "trusted_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.h"

int trusted_file_check(int fd, const char *path, enum trusted_file_kind kind, char **error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_text_set(error, -EPERM, "%s: not a regular file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return error_text_set(error, -EPERM, "%s: belongs to another user", path);
	if (kind == TRUSTED_FILE_PUBLIC && status.st_mode & (S_IWGRP | S_IWOTH))
		return error_text_set(error, -EPERM,
				      "%s: others than its owner can write it (chmod go-w %s)",
				      path, path);
	if (kind == TRUSTED_FILE_PUBLIC)
		return 0;
	const mode_t allowed = kind == TRUSTED_FILE_SHARED && status.st_uid == 0 ? S_IRGRP : 0;
	if (status.st_mode & (S_IRWXG | S_IRWXO) & ~allowed)
		return error_text_set(
			error, -EPERM,
			"%s: others than its owner can read or write it (chmod 600 %s)", path,
			path);
	return 0;
}
