#include "private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "proto/trust/trusted_dir.h"

int private_dir_create(struct private_dir *dir)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int error = -ENOENT;

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (!parents[i] || parents[i][0] != '/')
			continue;

		int size = snprintf(dir->path, sizeof(dir->path), "%s/" PRIVATE_DIR_PREFIX "XXXXXX",
				    parents[i]);
		error = size < 0 || (size_t)size >= sizeof(dir->path)
				? -ENAMETOOLONG
				: trusted_dir_check_parent(parents[i]);
		if (error == 0 && !mkdtemp(dir->path)) /* with mode 0700 and a new name */
			error = -errno;
		if (error)
			continue;
		dir->lock = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir->lock >= 0)
			flock(dir->lock, LOCK_EX); /* another run may be looking inside */
		return 0;
	}
	dir->path[0] = '\0';
	return error;
}

void private_dir_remove(struct private_dir *dir)
{
	if (!dir->path[0])
		return;
	rmdir(dir->path);
	if (dir->lock >= 0)
		close(dir->lock);
	dir->path[0] = '\0';
}
