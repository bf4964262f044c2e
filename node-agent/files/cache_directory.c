#include "cache_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A dot and sixteen digits, behind the name of a file that is being written. */
#define RANDOM_SIZE 17u

int cache_directory_make(const char *path)
{
	char part[PATH_MAX];
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, size + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0700) && errno != EEXIST ? -errno : 0;
}

int cache_directory_open(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_uid != geteuid() || (status.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static int read_file(int fd, size_t size, char **data)
{
	size_t have = 0;

	*data = malloc(size);
	if (!*data)
		return -ENOMEM;
	while (have < size) {
		ssize_t got = read(fd, *data + have, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		have += (size_t)got;
	}
	return 0;
}

int cache_directory_read(int directory, const char *name, size_t size_min, size_t size_max,
			 char **data, size_t *size)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	int r = 0;

	*data = NULL;
	*size = 0;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & 022) || status.st_size < (off_t)size_min ||
	    status.st_size > (off_t)size_max)
		r = -EBADMSG;
	if (r == 0)
		r = read_file(fd, (size_t)status.st_size, data);
	close(fd);
	if (r) {
		free(*data);
		*data = NULL;
		return r;
	}
	*size = (size_t)status.st_size;
	return 0;
}

void cache_directory_use(int directory, const char *name)
{
	utimensat(directory, name, NULL, AT_SYMLINK_NOFOLLOW);
}

void cache_directory_delete(int directory, const char *name)
{
	unlinkat(directory, name, 0);
}

static int write_all(int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t put = write(fd, bytes, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

static int write_parts(int fd, const struct cache_part *parts, uint32_t nr_parts)
{
	int r = 0;

	for (uint32_t i = 0; i < nr_parts && r == 0; i++)
		r = write_all(fd, parts[i].data, parts[i].size);
	return r;
}

/* The lock says that the writer lives. A survey may come between the two steps, and deletes the file: then it is as if
 * it had not been written. */
static int create_temporary(int directory, const char *name)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

int cache_directory_write(int directory, const char *name, const struct cache_part *parts,
			  uint32_t nr_parts)
{
	char temporary[NAME_MAX + 1];
	uint64_t random;

	/* Hosts may share the directory. */
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	if (snprintf(temporary, sizeof(temporary), "%s.%016" PRIx64, name, random) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	int fd = create_temporary(directory, temporary);
	if (fd < 0)
		return fd;
	int r = write_parts(fd, parts, nr_parts);
	if (r == 0 && renameat(directory, temporary, directory, name))
		r = -errno;
	if (close(fd) && r == 0)
		r = -errno;
	if (r)
		unlinkat(directory, temporary, 0);
	return r;
}

/* ---- which files there are --------------------------------------------------------------------- */

static bool ends_in(const char *name, size_t size, const char *suffix)
{
	size_t suffix_size = strlen(suffix);

	return size > suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0;
}

/* Returns whether this is a name that cache_directory_write() gives a file until it is whole. */
static bool is_temporary(const char *name, const char *suffix)
{
	size_t size = strlen(name);

	return size > RANDOM_SIZE && name[size - RANDOM_SIZE] == '.' &&
	       strspn(name + size - RANDOM_SIZE + 1, "0123456789abcdef") == RANDOM_SIZE - 1 &&
	       ends_in(name, size - RANDOM_SIZE, suffix);
}

/* Deletes what a dead writer has left. Returns false if the file is still there, *is_written if it has a writer. */
static bool delete_left_behind(int directory, const char *name, bool *is_written)
{
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_gone = fd < 0 && errno == ENOENT;

	*is_written = false;
	if (fd < 0)
		return is_gone;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		is_gone = unlinkat(directory, name, 0) == 0;
	else
		*is_written = errno == EWOULDBLOCK;
	close(fd);
	return is_gone;
}

/* Describes an entry of the directory. false: it is no file of the cache, or it is gone now. */
static bool look_at(int directory, const char *name, const char *suffix, struct cache_file *file)
{
	bool temporary = is_temporary(name, suffix);
	struct stat status;

	*file = (struct cache_file){0};
	if ((!temporary && !ends_in(name, strlen(name), suffix)) ||
	    snprintf(file->name, sizeof(file->name), "%s", name) >= (int)sizeof(file->name) ||
	    (temporary && delete_left_behind(directory, name, &file->is_written)) ||
	    fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return false;
	file->bytes = (uint64_t)status.st_size;
	file->used = status.st_mtim;
	return true;
}

static int by_use(const void *a, const void *b)
{
	const struct cache_file *one = a, *other = b;

	if (one->used.tv_sec != other->used.tv_sec)
		return one->used.tv_sec < other->used.tv_sec ? 1 : -1;
	if (one->used.tv_nsec != other->used.tv_nsec)
		return one->used.tv_nsec < other->used.tv_nsec ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* false: out of memory. */
static bool append(struct cache_file **files, uint32_t *nr, const struct cache_file *file)
{
	if ((*nr & (*nr - 1)) == 0) { /* full at powers of two */
		struct cache_file *larger =
			realloc(*files, (*nr ? (size_t)*nr * 2 : 1) * sizeof(**files));

		if (!larger)
			return false;
		*files = larger;
	}
	(*files)[(*nr)++] = *file;
	return true;
}

int cache_directory_list(int directory, const char *suffix, struct cache_file **files, uint32_t *nr)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	int r = stream ? 0 : -errno;
	const struct dirent *entry;
	struct cache_file file;

	*files = NULL;
	*nr = 0;
	if (!stream && fd >= 0)
		close(fd);
	while (r == 0 && *nr < CACHE_DIRECTORY_LIST_MAX && (entry = readdir(stream)))
		if (look_at(directory, entry->d_name, suffix, &file) && !append(files, nr, &file))
			r = -ENOMEM;
	if (stream)
		closedir(stream);
	if (r) {
		free(*files);
		*files = NULL;
		*nr = 0;
	} else if (*nr) {
		qsort(*files, *nr, sizeof(**files), by_use);
	}
	return r;
}

/* Deletes from the end of the list, where the oldest are. Returns whether any was deleted. */
static bool trim_listed(int directory, const struct cache_file *files, uint32_t nr,
			const struct cache_limits *limits)
{
	bool is_changed = false;
	uint64_t bytes = 0;
	uint32_t nr_left = nr;

	for (uint32_t i = 0; i < nr; i++)
		bytes += files[i].bytes;
	for (uint32_t i = nr; i-- > 1 && (bytes > limits->bytes || nr_left > limits->files);) {
		if (files[i].is_written || unlinkat(directory, files[i].name, 0))
			continue;
		bytes -= files[i].bytes;
		nr_left--;
		is_changed = true;
	}
	return is_changed;
}

void cache_directory_trim(int directory, const char *suffix, const struct cache_limits *limits)
{
	struct cache_file *files;
	bool is_more = true;
	uint32_t nr;

	while (is_more && cache_directory_list(directory, suffix, &files, &nr) == 0) {
		is_more =
			trim_listed(directory, files, nr, limits) && nr == CACHE_DIRECTORY_LIST_MAX;
		free(files);
	}
}
