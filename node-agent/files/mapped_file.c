#include "mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf_file.h"
#include "maps_file.h"
#include "permitted_file.h"

#define NS_PER_S 1000000000ll

static int64_t ns_of(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* Asks no file system, since a root can be on one that hangs. */
static bool look_at(const char *path, struct statx *status)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, status) == 0;
}

/* Compares the kernel's numbers of both files. */
static bool is_same(pid_t pid, const char *name, const char *ours)
{
	struct statx status, our_status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return look_at(path, &status) && look_at(ours, &our_status) &&
	       status.stx_ino == our_status.stx_ino &&
	       status.stx_dev_major == our_status.stx_dev_major &&
	       status.stx_dev_minor == our_status.stx_dev_minor;
}

/* A living process has a root, even if the kernel does not let us look at it. */
static bool has_root(pid_t pid)
{
	struct statx status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return look_at(path, &status) || (errno != ENOENT && errno != ESRCH);
}

void mapped_file_view_init(struct mapped_file_view *view, pid_t pid, uid_t user,
			   uint64_t start_ticks)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	struct timespec now, up;

	*view = (struct mapped_file_view){.pid = pid, .user = user};
	view->is_ours = is_same(pid, "ns/mnt", "/proc/self/ns/mnt") && is_same(pid, "root", "/");
	/* If /proc shows no root, only files of our own user's processes are believed: that user could read them
	 * anyhow. Without a start time no file counts as older than the process. */
	if (!view->is_ours && !has_root(pid)) {
		view->is_ours = user == geteuid();
		return;
	}
	if (start_ticks == 0 || ticks_per_s <= 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	view->started_ns = ns_of(now) - ns_of(up) + (int64_t)start_ticks * (NS_PER_S / ticks_per_s);
}

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
	char path[PATH_MAX];
	struct stat status;
	int fd = permitted_file_open_mapped(view->pid, entry->start, entry->end);

	if (fd >= 0 || fd == -ENOEXEC)
		return elf_file_open_fd(fd, file);
	*file = NULL;
	if (entry->deleted || entry->path_size >= PATH_MAX)
		return -ENOENT; /* another file is at the path now */
	memcpy(path, entry->path, entry->path_size);
	path[entry->path_size] = '\0';
	int r = elf_file_open_fd(permitted_file_open_in(view->pid, path, view->user, 0), file);
	/* The device is not compared: Btrfs and overlays show another one in maps. */
	return r ? r
		 : check(fstat(elf_file_fd(*file), &status) == 0 && status.st_ino == entry->inode,
			 file);
}

int mapped_file_open_old(const struct mapped_file_view *view, const char *path,
			 struct elf_file **file)
{
	struct stat status;

	*file = NULL;
	if (!view->is_ours)
		return -ENOENT;
	int r = elf_file_open_fd(permitted_file_open_in(0, path, view->user, 0), file);
	return r ? r
		 : check(fstat(elf_file_fd(*file), &status) == 0 &&
				 permitted_file_is_older(&status, view->started_ns),
			 file);
}
