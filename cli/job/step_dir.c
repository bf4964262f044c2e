#include "step_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/trust/trusted_dir.h"

#define TRIES     1000 /* each failed try means that a directory was removed meanwhile */
#define STEM_SIZE 36
#define NAME_SIZE 48

/* Without a key, the processes of a step on this node share only the process that started them. */
static uint64_t name_of(const struct job_step *step, const char *node)
{
	char host[256] = "", who[32];
	uint64_t name;

	if (!node)
		node = getenv("SLURMD_NODENAME");
	if (!node || !*node) {
		gethostname(host, sizeof(host) - 1);
		node = host;
	}
	snprintf(who, sizeof(who), "%ld", *step->key ? (long)geteuid() : (long)getppid());
	name = job_step_hash(JOB_STEP_HASH, step->key);
	return job_step_hash(job_step_hash(name, node), who);
}

/* 0; -EAGAIN: the directory was removed meanwhile; -ENOENT; -EPERM: it belongs to another user; other -errno. */
static int open_locked(struct step_dir *dir)
{
	struct stat opened, named;
	int error = 0;

	dir->lock = trusted_dir_open(dir->path);
	if (dir->lock < 0) {
		error = dir->lock;
		dir->lock = -1;
		return error;
	}
	if (fstat(dir->lock, &opened) < 0 || flock(dir->lock, LOCK_EX) < 0)
		error = -errno;
	else if (lstat(dir->path, &named) < 0 || named.st_ino != opened.st_ino ||
		 named.st_dev != opened.st_dev)
		error = -EAGAIN;
	if (error)
		step_dir_unlock(dir);
	return error;
}

static int set_path(struct step_dir *dir, const char *parent, const char *name)
{
	int size = snprintf(dir->path, sizeof(dir->path), "%s/%s", parent, name);

	dir->lock = -1;
	return size < 0 || (size_t)size >= sizeof(dir->path) ? -ENAMETOOLONG : 0;
}

static const char *name_in(const struct step_dir *dir)
{
	return strrchr(dir->path, '/') + 1;
}

static bool is_ours(int parent, const char *name)
{
	struct stat status;

	return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
	       (status.st_mode & 0777) == 0700;
}

/* Writes the least name of a directory of ours that begins with stem and is not `but`; "": there is none. */
static int find(const char *parent, const char *stem, const char *but, char found[static NAME_SIZE])
{
	DIR *directory = opendir(parent);
	const struct dirent *entry;

	*found = '\0';
	if (!directory)
		return -errno;
	while (errno = 0, (entry = readdir(directory)) != NULL)
		if (strncmp(entry->d_name, stem, strlen(stem)) == 0 &&
		    strlen(entry->d_name) < NAME_SIZE && strcmp(entry->d_name, but) != 0 &&
		    (!*found || strcmp(entry->d_name, found) < 0) &&
		    is_ours(dirfd(directory), entry->d_name))
			strcpy(found, entry->d_name);
	int error = -errno;
	closedir(directory);
	return error;
}

/* Locks a directory that find() has seen. 0; -EAGAIN: it has gone since; other -errno. */
static int open_found(struct step_dir *dir, const char *parent, const char *name)
{
	int error = set_path(dir, parent, name);

	if (error == 0)
		error = open_locked(dir);
	return error == -ENOENT || error == -EPERM ? -EAGAIN : error;
}

static int make(const char *parent, const char *stem, char name[static NAME_SIZE])
{
	struct step_dir made;
	uint32_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid();
	snprintf(name, NAME_SIZE, "%.*s%08x", STEM_SIZE - 1, stem, number);
	int error = set_path(&made, parent, name);
	if (error)
		return error;
	if (mkdir(made.path, 0700) == 0)
		return 0;
	return errno == EEXIST ? -EAGAIN : -errno;
}

static bool is_chosen(const struct step_dir *dir)
{
	return faccessat(dir->lock, STEP_DIR_LIFE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int choose(const struct step_dir *dir)
{
	int fd =
		openat(dir->lock, STEP_DIR_LIFE, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Goes one step from a locked candidate towards the chosen directory (step_dir.h). 0: *dir is locked, and may be
 * another one; -EAGAIN: it gave way, and nothing is locked; other -errno: nothing is locked. */
static int settle(struct step_dir *dir, const char *parent, const char *stem)
{
	struct step_dir other;
	char found[NAME_SIZE];
	int error = find(parent, stem, name_in(dir), found);

	if (error == 0 && !*found)
		error = choose(dir);
	else if (error == 0 && strcmp(found, name_in(dir)) < 0)
		error = -EAGAIN;
	else if (error == 0) {
		error = open_found(&other, parent, found);
		if (error == -EAGAIN)
			return 0;
		if (error == 0) {
			step_dir_remove(dir);
			*dir = other;
		}
	}
	if (error)
		step_dir_remove(dir);
	return error;
}

static int lock_in(struct step_dir *dir, const char *parent, const char *stem)
{
	char name[NAME_SIZE];
	int error = trusted_dir_check_parent(parent);

	if (error == 0)
		error = find(parent, stem, "", name);
	if (error == 0 && !*name)
		error = make(parent, stem, name);
	if (error == 0)
		error = open_found(dir, parent, name);
	while (error == 0 && !is_chosen(dir))
		error = settle(dir, parent, stem);
	return error;
}

int step_dir_lock(struct step_dir *dir, const struct job_step *step, const char *node)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	char stem[STEM_SIZE];
	int error = -ENOENT;

	snprintf(stem, sizeof(stem), STEP_DIR_PREFIX "%016llx.",
		 (unsigned long long)name_of(step, node));
	dir->lock = -1;
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		if (!parents[i] || parents[i][0] != '/')
			continue;
		error = -EAGAIN;
		for (int try = 0; error == -EAGAIN && try < TRIES; try++)
			error = lock_in(dir, parents[i], stem);
		if (error == 0)
			return 0;
	}
	dir->path[0] = '\0';
	return error;
}

void step_dir_unlock(struct step_dir *dir)
{
	if (dir->lock >= 0)
		close(dir->lock);
	dir->lock = -1;
}

void step_dir_file(const struct step_dir *dir, const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s/%s", dir->path, name);
}

int step_dir_relock(struct step_dir *dir)
{
	return open_locked(dir);
}

int step_dir_live(const struct step_dir *dir)
{
	char path[STEP_DIR_MAX + 16];
	int fd;

	step_dir_file(dir, STEP_DIR_LIFE, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* The descriptor stays open, so the lock ends with the process. */
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

void step_dir_remove(struct step_dir *dir)
{
	char path[STEP_DIR_MAX + 16];

	step_dir_file(dir, STEP_DIR_LIFE, path, sizeof(path));
	unlink(path);
	rmdir(dir->path);
	step_dir_unlock(dir);
}
