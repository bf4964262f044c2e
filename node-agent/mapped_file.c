#include "mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf_file.h"
#include "maps_file.h"
#include "proc_file.h"

#define NS_PER_S 1000000000ll
#define SLACK_NS 100000000ll /* ticks are coarse, and so is the clock of file systems */

static int64_t ns_of(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

void mapped_file_view_init(struct mapped_file_view *view, pid_t pid)
{
	uint64_t ticks = pid > 0 ? proc_file_start_ticks(pid) : 0;
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	struct stat ours, theirs;
	struct timespec now, up;
	char path[64];

	*view = (struct mapped_file_view){.pid = pid};
	if (ticks == 0 || ticks_per_s <= 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	view->started_ns = ns_of(now) - ns_of(up) + (int64_t)ticks * (NS_PER_S / ticks_per_s);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	view->is_ours = stat(path, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 &&
			theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/* Closes a file that is not to be believed. */
static int check(bool believed, struct elf_file **file)
{
	if (believed)
		return 0;
	elf_file_close(*file);
	*file = NULL;
	return -ENOENT;
}

int mapped_file_open(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     struct elf_file **file)
{
	char path[PATH_MAX + 64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)view->pid,
		 (unsigned long)entry->start, (unsigned long)entry->end);
	if (elf_file_open(path, file) == 0)
		return 0;
	if (entry->deleted || entry->path_size >= PATH_MAX)
		return -ENOENT; /* what is at the path now is another file */
	snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)view->pid, (int)entry->path_size,
		 entry->path);
	int r = elf_file_open(path, file);
	/* Not the device: Btrfs and overlays show another one in maps. */
	return r ? r
		 : check(fstat(elf_file_fd(*file), &status) == 0 && status.st_ino == entry->inode,
			 file);
}

int mapped_file_open_old(const struct mapped_file_view *view, const char *path,
			 struct elf_file **file)
{
	struct stat status;

	*file = NULL;
	if (!view->is_ours || view->started_ns == 0 || path[0] != '/')
		return -ENOENT;
	int r = elf_file_open(path, file);
	return r ? r
		 : check(fstat(elf_file_fd(*file), &status) == 0 &&
				 ns_of(status.st_ctim) + SLACK_NS < view->started_ns,
			 file);
}
