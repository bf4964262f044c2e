/* LD_PRELOAD: a disk on which each fsync() and fdatasync() takes 200 ms longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#define SYNC_NS 200000000L

static int sync_late(const char *name, int fd)
{
	struct timespec rest = {.tv_nsec = SYNC_NS};
	int (*call)(int);

	*(void **)&call = dlsym(RTLD_NEXT, name);
	while (nanosleep(&rest, &rest))
		;
	return call(fd);
}

int fsync(int fd)
{
	return sync_late("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_late("fdatasync", fd);
}
