#include "shared_disk.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Those that linux/magic.h lacks are here by value. */
static const unsigned long magics[] = {
	NFS_SUPER_MAGIC,  CEPH_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC,
	SMB2_SUPER_MAGIC, AFS_SUPER_MAGIC,  V9FS_MAGIC,      0x0bd00bd0, /* Lustre */
	0x47504653,                                                      /* GPFS */
	0x19830326,                                                      /* BeeGFS */
	0x6e667364, /* Weka and others that show themselves as NFS servers do */
	0x61636673, /* ACFS */
	0x7461636f, /* OCFS2 */
	0x01161970, /* GFS2 */
	0x20030528, /* OrangeFS */
};

/* A container's layers, and file systems such as NTFS on a disk of the host. */
static const char *const fuse_of_one_host[] = {"fuse.fuse-overlayfs", "fuseblk"};

bool shared_disk_is_kind(unsigned long magic, const char *type)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magic == magics[i])
			return true;
	if (magic != FUSE_SUPER_MAGIC)
		return false;
	for (size_t i = 0; i < sizeof(fuse_of_one_host) / sizeof(*fuse_of_one_host); i++)
		if (strcmp(type, fuse_of_one_host[i]) == 0)
			return false;
	return true;
}

/* A line: "36 35 98:0 /root /mount rw,noatime master:1 - ext3 /dev/root rw" (proc(5)). */
void shared_disk_type(FILE *mountinfo, dev_t device, char type[static SHARED_DISK_TYPE_SIZE])
{
	char *line = NULL;
	size_t room = 0;

	*type = '\0';
	while (!*type && getline(&line, &room, mountinfo) > 0) {
		unsigned int major_number, minor_number;
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) != 2 ||
		    major_number != major(device) || minor_number != minor(device))
			continue;
		rest += strlen(" - ");
		snprintf(type, SHARED_DISK_TYPE_SIZE, "%.*s", (int)strcspn(rest, " \n"), rest);
	}
	free(line);
}

bool shared_disk_has(const char *folder)
{
	char type[SHARED_DISK_TYPE_SIZE] = "";
	struct statfs system;
	struct stat info;

	if (statfs(folder, &system))
		return false;
	FILE *mountinfo =
		(unsigned long)system.f_type == FUSE_SUPER_MAGIC && stat(folder, &info) == 0
			? fopen("/proc/self/mountinfo", "re")
			: NULL;
	if (mountinfo) {
		shared_disk_type(mountinfo, info.st_dev, type);
		fclose(mountinfo);
	}
	return shared_disk_is_kind((unsigned long)system.f_type, type);
}
