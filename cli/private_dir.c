#include "private_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int private_dir_create(struct private_dir *dir)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int error = -ENOENT;

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (!parents[i] || parents[i][0] != '/')
			continue;

		int size =
			snprintf(dir->path, sizeof(dir->path), "%s/flamegrid-XXXXXX", parents[i]);
		if (size < 0 || (size_t)size >= sizeof(dir->path))
			error = -ENAMETOOLONG;
		else if (mkdtemp(dir->path)) /* 0700, and no name that was there before */
			return 0;
		else
			error = -errno;
	}
	dir->path[0] = '\0';
	return error;
}

void private_dir_remove(struct private_dir *dir)
{
	if (dir->path[0])
		rmdir(dir->path);
	dir->path[0] = '\0';
}
