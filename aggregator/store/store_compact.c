#include "store_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "database.h"

static int new_path(const char *path, char new[static PATH_MAX])
{
	return snprintf(new, PATH_MAX, "%s-compact", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool has_room(const char *path, uint64_t bytes)
{
	struct statvfs disk;

	return statvfs(path, &disk) == 0 &&
	       (uint64_t)disk.f_bavail * disk.f_frsize / STORE_COMPACT_ROOM >= bytes;
}

/* Reports may still read a log; what is no file of ours alone is not replaced. 0, or -EAGAIN. */
static int check(struct database *database, const char *path, struct stat *info)
{
	int64_t page = 0, pages = 0, unused = 0, most = 0;
	char journal[16] = "";
	int error = database_query_text(database, "PRAGMA journal_mode", journal, sizeof(journal));

	if (!error)
		error = database_query_number(database, "PRAGMA page_size", &page);
	if (!error)
		error = database_query_number(database, "PRAGMA page_count", &pages);
	if (!error)
		error = database_query_number(database, "PRAGMA freelist_count", &unused);
	if (!error)
		error = database_query_number(database, "PRAGMA max_page_count", &most);
	if (error)
		return error;
	if (strcmp(journal, "delete") != 0 || lstat(path, info) < 0 || !S_ISREG(info->st_mode) ||
	    info->st_nlink != 1 || database_has_moved(database))
		return -EAGAIN;
	/* Both files together have no more room than the one. */
	if (pages - unused > most - pages)
		return -EAGAIN;
	if (unused * page < (int64_t)STORE_COMPACT_BYTES_MIN || unused < pages / 4)
		return -EAGAIN;
	return has_room(path, (uint64_t)(pages - unused) * (uint64_t)page) ? 0 : -EAGAIN;
}

/* SQLite writes into an empty file of that name, and leaves it to us when it is on disk. */
static int create(const char *new, const struct stat *info)
{
	int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int error = fd < 0 ? -errno : 0;

	if (!error && fchmod(fd, info->st_mode & 07777) < 0)
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static int sync_path(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	int error = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

int store_compact_write(struct database *database, const char *path, uint64_t until_ns)
{
	char new[PATH_MAX];
	struct stat info;
	int error = new_path(path, new);

	if (!error)
		error = check(database, path, &info);
	if (error)
		return error;
	unlink(new);
	error = create(new, &info);
	if (!error)
		error = database_copy(database, new, until_ns);
	if (!error)
		error = sync_path(new, 0);
	if (!error && database_has_moved(database))
		error = -EAGAIN;
	if (error)
		unlink(new);
	return error;
}

int store_compact_take(const char *path)
{
	char new[PATH_MAX], copy[PATH_MAX];
	int error = new_path(path, new);

	if (error)
		return error;
	if (rename(new, path) < 0) {
		error = -errno;
		unlink(new);
		return error;
	}
	snprintf(copy, sizeof(copy), "%s", path);
	return sync_path(dirname(copy), O_DIRECTORY);
}
