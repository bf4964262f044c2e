#include "merged_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.h"
#include "base/local_disk.h"
#include "timeline/log/event_place.h"

#define PREFIX     "flamegrid-report-"
#define UNFINISHED MERGED_DIR_FILE ".new" /* of a part of a profile (profile_slice.h) */

static const char *parent_path(void)
{
	const char *parent = getenv("TMPDIR");

	return parent && *parent == '/' ? parent : "/tmp";
}

static int open_directory(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static bool is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	       (status.st_mode & 07777) == 0700;
}

/* A copy, or what becomes one, goes last, because it marks the directory of a reader that had locked it. */
static void remove_files(int directory)
{
	static const char *const files[] = {MERGED_DIR_FILE "-journal",
					    MERGED_DIR_FILE "-wal",
					    MERGED_DIR_FILE "-shm",
					    UNFINISHED "-journal",
					    UNFINISHED "-wal",
					    UNFINISHED "-shm",
					    MERGED_DIR_FILE,
					    UNFINISHED};

	event_place_remove(directory, MERGED_DIR_FILE EVENT_FORMAT_FOLDER);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlinkat(directory, files[i], 0);
}

static bool has(int directory, const char *name)
{
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A directory without a copy may be new, and its maker about to lock it. */
static void remove_if_dead(int parent, const char *name)
{
	int fd = open_directory(parent, name);

	if (fd < 0)
		return;
	if (is_ours(fd) && (has(fd, MERGED_DIR_FILE) || has(fd, UNFINISHED)) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		remove_files(fd);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(fd);
}

static void remove_dead(void)
{
	DIR *parent = opendir(parent_path());
	const struct dirent *entry;

	if (parent && local_disk_has(dirfd(parent)))
		while ((entry = readdir(parent)) != NULL)
			if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
				remove_if_dead(dirfd(parent), entry->d_name);
	if (parent)
		closedir(parent);
}

int merged_dir_create(struct merged_dir *dir, char **error)
{
	char path[PATH_MAX];

	*dir = (struct merged_dir){.lock = -1};
	remove_dead();
	if (snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX", parent_path()) >= PATH_MAX)
		return error_text_set(error, -ENAMETOOLONG, "%s: %s", parent_path(),
				      strerror(ENAMETOOLONG));
	if (!mkdtemp(path))
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	dir->lock = open_directory(AT_FDCWD, path);
	if (dir->lock < 0) {
		const int status = -errno;

		rmdir(path);
		return error_text_set(error, status, "%s: %s", path, strerror(-status));
	}
	/* On a file system without locks nobody can lock it, and so nobody removes it. */
	flock(dir->lock, LOCK_EX | LOCK_NB);
	strcpy(dir->path, path);
	return 0;
}

void merged_dir_remove(struct merged_dir *dir)
{
	if (!*dir->path)
		return;
	remove_files(dir->lock);
	close(dir->lock);
	rmdir(dir->path);
	*dir = (struct merged_dir){.lock = -1};
}
