#include "permitted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FIND     (O_PATH | O_CLOEXEC)
#define READ     (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define NS_PER_S 1000000000ll
#define SLACK_NS 100000000ll /* timestamps of files and processes are as coarse as clock ticks */

/* Takes found, which was opened with O_PATH: that opening had no effect on the file. type: S_IFREG or S_IFDIR. user
 * must be allowed to read the file; NULL: the file's mode does not count. */
static int open_found_as(int found, mode_t type, const uid_t *user)
{
	struct stat status;
	char path[40];
	int fd;

	if (found < 0)
		return -errno;
	if (fstat(found, &status) || (status.st_mode & S_IFMT) != type)
		fd = type == S_IFDIR ? -ENOTDIR : -ENOEXEC;
	else if (user && *user != 0 && *user != status.st_uid && !(status.st_mode & S_IROTH))
		fd = -EACCES;
	else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
		fd = open(path, type == S_IFDIR ? READ | O_DIRECTORY : READ);
		if (fd < 0)
			fd = -errno;
	}
	close(found);
	return fd;
}

static int open_found(int found, const uid_t *user)
{
	return open_found_as(found, S_IFREG, user);
}

int permitted_file_open(const char *path)
{
	return open_found(open(path, FIND), NULL);
}

static int find_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)(start & ~in_page),
		 (unsigned long long)((end + in_page) & ~in_page));
	return open(path, FIND);
}

int permitted_file_open_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	return open_found(find_mapped(pid, start, end), NULL);
}

uint64_t permitted_file_device_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	int found = find_mapped(pid, start, end);
	struct statx status;
	uint64_t device = 0;

	if (found < 0)
		return 0;
	if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status) == 0)
		device = makedev(status.stx_dev_major, status.stx_dev_minor);
	close(found);
	return device;
}

/* ---- in another root --------------------------------------------------------------------------- */

/* Opens each part by itself and follows no link, since an absolute link would lead into our own root. */
static int find_by_parts(int root, const char *path, int flags)
{
	char part[NAME_MAX + 1];
	int at = dup(root);

	while (at >= 0 && *path) {
		size_t size = strcspn(path, "/");
		struct stat status;
		int next;

		if (size == 0) {
			path++;
			continue;
		}
		if (size > NAME_MAX || (size == 2 && memcmp(path, "..", 2) == 0)) {
			close(at);
			errno = ENOENT;
			return -1;
		}
		memcpy(part, path, size);
		part[size] = '\0';
		path += size;
		next = openat(at, part, FIND | O_NOFOLLOW);
		close(at);
		at = next;
		if (at >= 0 && !(flags & O_NOFOLLOW) && fstat(at, &status) == 0 &&
		    S_ISLNK(status.st_mode)) {
			close(at);
			errno = ELOOP;
			return -1;
		}
	}
	return at;
}

static int find_in(int root, const char *path, int flags)
{
	const struct open_how how = {.flags = (unsigned)(FIND | flags),
				     .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* A filter of system calls that does not know openat2() answers EPERM. */
	return found < 0 && (errno == ENOSYS || errno == EPERM) ? find_by_parts(root, path, flags)
								: found;
}

/* Finds a path in the process's root. Returns a descriptor that was opened with O_PATH, or -errno. */
static int find_in_process(pid_t pid, const char *path, int flags)
{
	char name[40] = "/";
	int root, found;

	if (path[0] != '/')
		return -ENOENT;
	if (pid > 0)
		snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, FIND | O_DIRECTORY);
	if (root < 0)
		return -errno;
	found = find_in(root, path, flags);
	if (found < 0)
		found = -errno;
	close(root);
	return found;
}

int permitted_file_open_in(pid_t pid, const char *path, uid_t user, int flags)
{
	int found = find_in_process(pid, path, flags);

	return found < 0 ? found : open_found(found, &user);
}

int permitted_file_open_directory_in(pid_t pid, const char *path, uid_t user)
{
	int found = find_in_process(pid, path, 0);

	return found < 0 ? found : open_found_as(found, S_IFDIR, &user);
}

int permitted_file_open_at(int directory, const char *name, uid_t user)
{
	return open_found(openat(directory, name, FIND | O_NOFOLLOW), &user);
}

int permitted_file_open_directory_at(int directory, const char *name, uid_t user)
{
	return open_found_as(openat(directory, name, FIND | O_NOFOLLOW), S_IFDIR, &user);
}

/* ---- whom to believe --------------------------------------------------------------------------- */

bool permitted_file_is_of_root(int fd)
{
	struct statvfs mount;
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_uid == 0 &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH)) && fstatvfs(fd, &mount) == 0 &&
	       !(mount.f_flag & ST_NOSUID);
}

bool permitted_file_is_older(const struct stat *status, int64_t time_ns)
{
	int64_t changed_ns = status->st_ctim.tv_sec * NS_PER_S + status->st_ctim.tv_nsec;

	return time_ns > 0 && changed_ns + SLACK_NS < time_ns;
}
