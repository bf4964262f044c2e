#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_PATH   "/proc/self/fd/"
#define NAMES_MAX 100

static int open_stream(struct output_file *file, int fd)
{
	if (fd < 0)
		return -errno;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return 0;
	int error = -errno;

	close(fd);
	return error;
}

/* Returns the name in a path, and its folder in room. NULL: the path is too long. */
static const char *split_path(const char *path, char room[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	const int length = slash ? (int)(slash - path) + 1 : 1;

	if (snprintf(room, PATH_MAX, "%.*s", length, slash ? path : ".") >= PATH_MAX)
		return NULL;
	return slash ? slash + 1 : path;
}

/* Makes a name beside the path that no file has yet, by a function that makes the file: -EEXIST: it has. */
static int find_name(struct output_file *file, int (*make)(struct output_file *file, mode_t mode),
		     mode_t mode)
{
	int error = -EEXIST;

	for (int i = 0; i < NAMES_MAX && error == -EEXIST; i++) {
		if (snprintf(file->written, sizeof(file->written), "%s.%d-%d", file->path,
			     (int)getpid(), i) >= (int)sizeof(file->written))
			error = -ENAMETOOLONG;
		else
			error = make(file, mode);
	}
	if (error)
		*file->written = '\0';
	return error;
}

static int open_named(struct output_file *file, mode_t mode)
{
	return open_stream(file, open(file->written,
				      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

static int name_nameless(struct output_file *file, mode_t mode)
{
	char path[32];

	(void)mode;
	snprintf(path, sizeof(path), FD_PATH "%d", fileno(file->stream));
	return linkat(AT_FDCWD, path, AT_FDCWD, file->written, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int open_nameless(struct output_file *file, mode_t mode)
{
	char folder[PATH_MAX];

	if (!split_path(file->path, folder) || access(FD_PATH, X_OK) < 0)
		return -ENOTSUP;
	int error = open_stream(file, open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));

	file->is_nameless = error == 0;
	return error;
}

/* Opens the new file. The mode of one that follows is that of the old file. */
static int open_beside(struct output_file *file, mode_t mode, const mode_t *exact)
{
	int error = open_nameless(file, mode);

	if (error)
		error = find_name(file, open_named, mode);
	if (!error && exact)
		(void)!fchmod(fileno(file->stream), *exact);
	return error;
}

int output_file_open(struct output_file *file, const char *path, enum output_file_mode how,
		     mode_t mode)
{
	struct stat status;
	const bool exists = lstat(path, &status) == 0;
	const bool replaces = how == OUTPUT_FILE_REPLACES;
	int error = 0;

	*file = (struct output_file){.path = path};
	if (exists && S_ISDIR(status.st_mode))
		return -EISDIR;
	const bool is_device = exists && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode);
	const bool is_in_place = is_device || (exists && S_ISLNK(status.st_mode) && !replaces);

	if (!is_in_place) {
		if (!replaces && exists)
			mode = status.st_mode & 0777;
		error = open_beside(file, mode, replaces || exists ? &mode : NULL);
	}
	/* A file may be writable where its folder is not. After another error, what was there before stays. */
	if (is_in_place ||
	    (exists && !replaces && (error == -EACCES || error == -EPERM || error == -EROFS))) {
		*file->written = '\0';
		error = open_stream(file, open(path,
					       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
						       (replaces ? O_NOFOLLOW : 0),
					       mode));
	}
	return error;
}

int output_file_close(struct output_file *file, int result)
{
	if (file->is_nameless && result >= 0)
		result = fflush(file->stream) == 0 ? find_name(file, name_nameless, 0) : -errno;
	const bool is_beside = *file->written != '\0';

	if (fclose(file->stream) != 0 && result >= 0)
		result = -errno;
	if (is_beside && result >= 0 && rename(file->written, file->path) != 0)
		result = -errno;
	if (is_beside && result < 0)
		unlink(file->written);
	return result < 0 ? result : 0;
}

static bool is_same(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

static bool is_companion(const char *name, const char *store)
{
	const size_t length = strlen(store);

	return strncmp(name, store, length) == 0 && name[length] != '\0' &&
	       strchr("-.", name[length]);
}

bool output_file_is_of_store(const char *path, const char *store_path)
{
	char folder[PATH_MAX], store_folder[PATH_MAX], real[PATH_MAX], above[PATH_MAX];
	const char *name = split_path(path, folder);
	const char *store = split_path(store_path, store_folder);

	if (is_same(path, store_path))
		return true;
	if (!name || !store)
		return false;
	if (is_companion(name, store) && is_same(folder, store_folder))
		return true;
	if (!realpath(folder, real))
		return false;
	name = split_path(real, above);
	return name && is_companion(name, store) && is_same(above, store_folder);
}
