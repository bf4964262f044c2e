/* LD_PRELOAD: a disk that stands still while a gate is shut. fsync() and fdatasync() of a file whose path begins with
 * $GATED_DISK say so on the standard error, and wait until somebody opens the FIFO $DISK_GATE for writing. Without a FIFO
 * they go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pass_gate(int fd)
{
	static const char line[] = "the disk stalls\n";
	const char *disk = getenv("GATED_DISK"), *gate = getenv("DISK_GATE");
	char link[64], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!disk || !gate || readlink(link, path, sizeof(path) - 1) < 0 ||
	    strncmp(path, disk, strlen(disk)) != 0 || access(gate, F_OK))
		return;
	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		return;
	int opened = open(gate, O_RDONLY | O_CLOEXEC);
	if (opened >= 0)
		close(opened);
}

static int sync_late(const char *name, int fd)
{
	int (*call)(int);

	pass_gate(fd);
	*(void **)&call = dlsym(RTLD_NEXT, name);
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
