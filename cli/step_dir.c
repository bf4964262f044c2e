#include "step_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/trusted_dir.h"

#define TRIES 100 /* of a directory that others remove meanwhile */
#define NAMES 16  /* of one directory, where others take them */

/* Without a key, what the processes of a step on a node have in common is who started them. */
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

/* 0; -EAGAIN: it was removed meanwhile; -ENOENT; -EPERM: it is not ours; other -errno. */
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

/* Makes it unless it is there. */
static int make_locked(struct step_dir *dir)
{
	int error;

	if (mkdir(dir->path, 0700) < 0 && errno != EEXIST)
		return -errno;
	error = open_locked(dir);
	return error == -ENOENT ? -EAGAIN : error;
}

static int set_path(struct step_dir *dir, const char *parent, uint64_t name, int number)
{
	char suffix[16] = "";

	if (number > 0)
		snprintf(suffix, sizeof(suffix), ".%d", number);
	int size = snprintf(dir->path, sizeof(dir->path), "%s/" STEP_DIR_PREFIX "%016llx%s", parent,
			    (unsigned long long)name, suffix);
	return size < 0 || (size_t)size >= sizeof(dir->path) ? -ENAMETOOLONG : 0;
}

static int lock_in(struct step_dir *dir, const char *parent, uint64_t name)
{
	int free_number = -1, error = trusted_dir_check_parent(parent);

	for (int number = 0; number < NAMES && error == 0; number++) {
		error = set_path(dir, parent, name, number);
		if (error == 0)
			error = open_locked(dir);
		if (error == 0 || error == -EAGAIN)
			return error;
		if (error == -ENOENT && free_number < 0)
			free_number = number;
		if (error == -ENOENT || error == -EPERM)
			error = 0;
	}
	if (error)
		return error;
	if (free_number < 0)
		return -EPERM;
	set_path(dir, parent, name, free_number);
	error = make_locked(dir);
	/* Another user was faster. */
	return error == -EPERM ? -EAGAIN : error;
}

int step_dir_lock(struct step_dir *dir, const struct job_step *step, const char *node)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	const uint64_t name = name_of(step, node);
	int error = -ENOENT;

	dir->lock = -1;
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		if (!parents[i] || parents[i][0] != '/')
			continue;
		error = -EAGAIN;
		for (int try = 0; error == -EAGAIN && try < TRIES; try++)
			error = lock_in(dir, parents[i], name);
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
	int error = -EAGAIN;

	for (int try = 0; error == -EAGAIN && try < TRIES; try++)
		error = make_locked(dir);
	return error;
}

int step_dir_live(const struct step_dir *dir)
{
	char path[STEP_DIR_MAX + 16];
	int fd;

	step_dir_file(dir, STEP_DIR_LIFE, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Not closed: the lock ends with the process. */
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
