/* LD_PRELOAD: a file system of several hosts. statfs() of a path that begins with $SHARED_DISK says NFS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *system)
{
	const char *disk = getenv("SHARED_DISK");
	int (*call)(const char *, struct statfs *);

	*(void **)&call = dlsym(RTLD_NEXT, "statfs");
	int result = call(path, system);
	if (result == 0 && disk && strncmp(path, disk, strlen(disk)) == 0)
		system->f_type = NFS_SUPER_MAGIC;
	return result;
}
