#include "local_disk.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

bool local_disk_has(int fd)
{
	static const unsigned long here[] = {TMPFS_MAGIC,      EXT4_SUPER_MAGIC,
					     XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
					     F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return false;
	for (size_t i = 0; i < sizeof(here) / sizeof(*here); i++)
		if ((unsigned long)system.f_type == here[i])
			return true;
	return false;
}
