#include "output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/report_plane.h"

/* mkdir -p. */
static int make_path(const char *path)
{
	char partial[PATH_MAX];
	size_t size = strlen(path);

	if (size == 0)
		return -ENOENT;
	if (size >= sizeof(partial))
		return -ENAMETOOLONG;
	memcpy(partial, path, size + 1);
	for (size_t i = 1; i <= size; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		partial[i] = '\0';
		if (mkdir(partial, 0777) < 0 && errno != EEXIST)
			return -errno;
		partial[i] = path[i];
	}
	return 0;
}

/* Opens and locks; -EWOULDBLOCK: somebody else has it. */
static int lock_dir(const char *path)
{
	int error = make_path(path);
	if (error < 0)
		return error;

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return -EWOULDBLOCK;
	}
	return fd; /* a file system without locks (some NFS) is used unlocked */
}

static int move_file_aside(int dir, const char *name)
{
	/* SQLite finds a log by its store's name. */
	const char *suffix = strchr(name, '-');
	int stem = suffix ? (int)(suffix - name) : (int)strlen(name);
	char old[64];

	snprintf(old, sizeof(old), "%.*s.old%s", stem, name, suffix ? suffix : "");
	if (unlinkat(dir, old, 0) < 0 && errno != ENOENT)
		return -errno;
	if (renameat(dir, name, dir, old) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

static int move_aside(int dir)
{
	static const char *const names[] = {OUTPUT_STORE, OUTPUT_STORE "-wal", OUTPUT_STORE "-shm",
					    OUTPUT_FOLDED, OUTPUT_HTML, OUTPUT_API};
	char name[OUTPUT_PLANE_SIZE];
	int error = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !error; i++)
		error = move_file_aside(dir, names[i]);
	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANES && !error; plane++) {
		snprintf(name, sizeof(name), "%s" OUTPUT_PLANE_SUFFIX,
			 report_plane_name((enum report_plane)plane));
		error = move_file_aside(dir, name);
	}
	return error;
}

int output_dir_open(struct output_dir *output, const char *path)
{
	int size = snprintf(output->path, sizeof(output->path), "%s", path);

	output->fd = -1;
	if (size < 0 || (size_t)size >= sizeof(output->path))
		return -ENAMETOOLONG;
	int fd = lock_dir(output->path);
	if (fd == -EWOULDBLOCK) {
		size = snprintf(output->path, sizeof(output->path), "%s.%ld", path, (long)getpid());
		if (size < 0 || (size_t)size >= sizeof(output->path))
			return -ENAMETOOLONG;
		fd = lock_dir(output->path);
	}
	if (fd < 0)
		return fd;
	output->fd = fd;

	int error = move_aside(fd);
	if (error < 0)
		output_dir_close(output);
	return error;
}

void output_dir_close(struct output_dir *output)
{
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
}

int output_dir_file(const struct output_dir *output, const char *name, char out[static PATH_MAX])
{
	int size = snprintf(out, PATH_MAX, "%s/%s", output->path, name);

	return size < 0 || size >= PATH_MAX ? -ENAMETOOLONG : 0;
}
