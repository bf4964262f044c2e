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
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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

int cache_directory_write(int directory, const char *name, const struct cache_part *parts,
			  uint32_t nr_parts)
{
	char temporary[NAME_MAX + 1];

	uint64_t random;

	/* A file with another suffix is neither loaded nor counted. Hosts may share the directory. */
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	if (snprintf(temporary, sizeof(temporary), "%s.%016" PRIx64, name, random) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = write_parts(fd, parts, nr_parts);
	if (close(fd) && r == 0)
		r = -errno;
	if (r == 0 && renameat(directory, temporary, directory, name))
		r = -errno;
	if (r)
		unlinkat(directory, temporary, 0);
	return r;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t size = strlen(name), suffix_size = strlen(suffix);

	return size > suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

struct survey {
	uint64_t bytes;
	uint32_t nr_files;
	char oldest[NAME_MAX + 1];
};

static int survey(int directory, const char *suffix, struct survey *result)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct timespec oldest = {0};
	const struct dirent *entry;

	memset(result, 0, sizeof(*result));
	if (!stream) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((entry = readdir(stream))) {
		struct stat status;

		if (!has_suffix(entry->d_name, suffix) ||
		    fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		result->bytes += (uint64_t)status.st_size;
		if (result->nr_files++ == 0 || status.st_mtim.tv_sec < oldest.tv_sec ||
		    (status.st_mtim.tv_sec == oldest.tv_sec &&
		     status.st_mtim.tv_nsec < oldest.tv_nsec)) {
			oldest = status.st_mtim;
			snprintf(result->oldest, sizeof(result->oldest), "%s", entry->d_name);
		}
	}
	closedir(stream);
	return 0;
}

/* Each deleted file costs one survey. Files are few. */
void cache_directory_trim(int directory, const char *suffix, uint64_t max_bytes)
{
	struct survey found;

	while (survey(directory, suffix, &found) == 0 && found.bytes > max_bytes &&
	       found.nr_files > 1)
		if (unlinkat(directory, found.oldest, 0))
			return;
}
