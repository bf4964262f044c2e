#include "output_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shared_disk.h"
#include "proto/trust/rendezvous.h"
#include "report/model/report_plane.h"

#define NUMBER_MAX 10000
#define MARK_PIECE 65536u
#define TRIES      100 /* limit of tries to lock a mark that other runs remove */

/* ---- paths */

static int join(char out[static PATH_MAX], const char *path, const char *name)
{
	int size = snprintf(out, PATH_MAX, "%s/%s", path, name);

	return size < 0 || size >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int output_dir_file(const struct output_dir *output, const char *name, char out[static PATH_MAX])
{
	return join(out, output->path, name);
}

static int take_path(struct output_dir *output, const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (size >= sizeof(output->path))
		return -ENAMETOOLONG;
	memcpy(output->path, path, size);
	output->path[size] = '\0';
	output->kept = size;
	return size ? 0 : -ENOENT;
}

/* Makes the directory for this user alone, because a profile tells how a model is built. The user's mask applies to its
 * parents. */
static int make_path(struct output_dir *output)
{
	char partial[PATH_MAX];
	size_t size = strlen(output->path), existing = 0;
	bool made = false;

	memcpy(partial, output->path, size + 1);
	for (size_t i = 1; i <= size; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		partial[i] = '\0';
		if (mkdir(partial, output->path[i] == '\0' ? 0700 : 0777) == 0)
			made = true;
		else if (errno != EEXIST)
			return -errno;
		if (!made)
			existing = i;
		output->kept = existing;
		partial[i] = output->path[i];
	}
	return 0;
}

/* Removes the directories that this run made, if they are empty. */
static void remove_made(const struct output_dir *output)
{
	char partial[PATH_MAX];
	size_t size = strlen(output->path);

	memcpy(partial, output->path, size + 1);
	while (size > output->kept) {
		partial[size] = '\0';
		rmdir(partial);
		while (size > 0 && partial[size - 1] != '/')
			size--;
		while (size > 0 && partial[size - 1] == '/')
			size--;
	}
}

/* ---- numbers */

/* Paths such as "/", "." and ".." have no name to which a number could be added. */
static bool has_no_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Makes a directory with the next free number, beside path or inside it. */
static int make_numbered(const char *path, bool inside, mode_t mode, char made[static PATH_MAX])
{
	for (int i = 2; i < NUMBER_MAX; i++) {
		int size = snprintf(made, PATH_MAX, "%s%c%d", path, inside ? '/' : '.', i);

		if (size < 0 || size >= PATH_MAX)
			return -ENAMETOOLONG;
		if (mkdir(made, mode) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* ---- the mark */

static bool is_same_file(int fd, const char *path)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
	       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* NFS and Lustre know locks of open files, but not flock() or locks of directories. Without locks, an existing mark may
 * belong to a run that lives. */
static int lock_mark(int fd, bool is_new)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &all) == 0)
		return 0;
	return is_new && errno != EAGAIN && errno != EACCES ? 0 : -EWOULDBLOCK;
}

/* Returns the descriptor; -EWOULDBLOCK: another run has the mark; -EAGAIN: the mark was removed meanwhile; other
 * -errno. */
static int try_mark(const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600), r;
	bool is_new = fd >= 0;

	if (fd < 0 && errno != EEXIST)
		return -errno;
	if (!is_new)
		fd = open(path, flags);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -EWOULDBLOCK; /* the mark is another user's */
	r = lock_mark(fd, is_new);
	if (r == 0 && !is_same_file(fd, path))
		r = -EAGAIN;
	/* What a dead run has written there would name this run's profile to those who look for the dead one's. */
	if (r == 0 && !is_new && ftruncate(fd, 0) < 0)
		r = -errno;
	if (r)
		close(fd);
	return r ? r : fd;
}

static int take_mark(struct output_dir *output)
{
	char path[PATH_MAX];
	int r = output_dir_file(output, OUTPUT_MARK, path);

	if (r)
		return r;
	r = -EAGAIN;
	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = try_mark(path);
	if (r < 0)
		return r == -EAGAIN ? -EWOULDBLOCK : r;
	output->mark = r;
	return 0;
}

/* ---- the files of a profile */

/* Names the files of a profile: those of names[], and one for each plane but the GPU's. false: there are no more. */
static bool file_name(size_t number, char name[static OUTPUT_PLANE_SIZE])
{
	/* The store is moved first, and its log next. */
	static const char *const names[] = {
		OUTPUT_STORE,  OUTPUT_STORE "-wal", OUTPUT_STORE "-shm", OUTPUT_STORE "-journal",
		OUTPUT_FOLDED, OUTPUT_HTML,         OUTPUT_MEMORY,       OUTPUT_LEAKS,
		OUTPUT_API};
	const size_t nr_names = sizeof(names) / sizeof(names[0]);
	size_t plane = REPORT_PLANE_GPU + 1 + number - nr_names;

	if (number < nr_names)
		snprintf(name, OUTPUT_PLANE_SIZE, "%s", names[number]);
	else if (plane < REPORT_PLANES)
		snprintf(name, OUTPUT_PLANE_SIZE, "%s" OUTPUT_PLANE_SUFFIX,
			 report_plane_name((enum report_plane)plane));
	else
		return false;
	return true;
}

/* Calls visit for each file of a profile that may be in the directory: those of a name of their own, then those beside
 * the store, which are there (parts, and what a killed process has left). Returns the first result that is not 0. */
static int visit_files(const char *directory, int (*visit)(void *context, const char *name),
		       void *context)
{
	char name[OUTPUT_PLANE_SIZE];
	const struct dirent *entry;
	int r = 0;

	for (size_t i = 0; r == 0 && file_name(i, name); i++)
		r = visit(context, name);
	DIR *files = r ? NULL : opendir(directory);
	while (files && r == 0 && (entry = readdir(files)) != NULL)
		if (strncmp(entry->d_name, OUTPUT_STORE ".", strlen(OUTPUT_STORE ".")) == 0)
			r = visit(context, entry->d_name);
	if (files)
		closedir(files);
	return r;
}

static int is_there(void *directory, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	return join(path, directory, name) == 0 && lstat(path, &status) == 0;
}

static bool has_files(char *directory)
{
	return visit_files(directory, is_there, directory) != 0;
}

struct move {
	const char *from, *to;
};

static int move_file(void *context, const char *name)
{
	const struct move *move = context;
	char old[PATH_MAX], new[PATH_MAX];

	if (join(old, move->from, name) || join(new, move->to, name))
		return -ENAMETOOLONG;
	return rename(old, new) < 0 && errno != ENOENT ? -errno : 0;
}

static int move_files(const char *from, const char *to)
{
	struct move move = {from, to};

	return visit_files(from, move_file, &move);
}

/* The timeline is a folder of files. */
static void remove_folder(const char *path)
{
	char file[PATH_MAX];
	const struct dirent *entry;
	DIR *files = opendir(path);

	while (files && (entry = readdir(files)) != NULL)
		if (entry->d_type != DT_DIR && join(file, path, entry->d_name) == 0)
			unlink(file);
	if (files)
		closedir(files);
	rmdir(path);
}

static int remove_file(void *directory, const char *name)
{
	char path[PATH_MAX];

	if (join(path, directory, name) == 0 && unlink(path) < 0 && errno == EISDIR)
		remove_folder(path);
	return 0;
}

static void put_back(struct output_dir *output)
{
	if (*output->earlier && move_files(output->earlier, output->path) == 0)
		rmdir(output->earlier);
	*output->earlier = '\0';
}

/* The place beside the directory may be another file system, or not writable for this user. */
static int move_aside(struct output_dir *output)
{
	struct stat status;
	int r = -EEXIST;

	if (!has_files(output->path))
		return 0;
	if (stat(output->path, &status) < 0)
		return -errno;
	for (int inside = has_no_name(output->path); inside < 2; inside++) {
		r = make_numbered(output->path, inside, status.st_mode & 0777, output->earlier);
		if (r == 0)
			r = move_files(output->path, output->earlier);
		else
			*output->earlier = '\0';
		if (r == 0)
			return 0;
		put_back(output);
	}
	return r;
}

/* ---- open and close */

/* Takes the next number, because another run uses the wanted directory. */
static int take_numbered(struct output_dir *output)
{
	char wanted[PATH_MAX];
	int r = -EEXIST;

	strcpy(wanted, output->path);
	for (int inside = has_no_name(wanted); inside < 2; inside++) {
		do {
			r = make_numbered(wanted, inside, 0700, output->path);
			if (r == 0 && (r = take_mark(output)) != 0 && r != -EWOULDBLOCK)
				rmdir(output->path);
		} while (r == -EWOULDBLOCK); /* another run wants this number as its own name */
		output->kept = strlen(output->path) - 1;
		if (r == 0)
			break;
	}
	return r;
}

/* Writes the mark's path, and returns whether the mark is still this run's. */
static bool mark_is_ours(const struct output_dir *output, char mark[static PATH_MAX])
{
	return output_dir_file(output, OUTPUT_MARK, mark) == 0 && is_same_file(output->mark, mark);
}

/* Removes the mark and, with_made, the directories that were made. All other files stay, because they may be an earlier
 * profile's that could not be moved. */
static void give_back(struct output_dir *output, bool with_made)
{
	char mark[PATH_MAX];

	if (mark_is_ours(output, mark)) {
		unlink(mark);
		if (with_made)
			remove_made(output);
	}
	close(output->mark);
	output->mark = -1;
}

static int open_directory(struct output_dir *output, const char *path)
{
	int r = take_path(output, path);

	output->mark = -1;
	*output->earlier = '\0';
	if (r)
		return r;
	r = -ENOENT;
	/* Another run may remove a directory that it made and does not need. */
	for (int i = 0; i < TRIES && r == -ENOENT; i++) {
		r = make_path(output);
		if (r == 0)
			r = take_mark(output);
	}
	if (r == -EWOULDBLOCK)
		r = take_numbered(output);
	else if (r)
		remove_made(output);
	if (r)
		return r;
	r = move_aside(output);
	if (r)
		give_back(output, true);
	return r;
}

int output_dir_open(struct output_dir *output, const char *path)
{
	int r = open_directory(output, path);
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/') /* take_path() leaves them out, too */
		size--;
	if (r)
		log_error("%s: cannot be written: %s", path, strerror(-r));
	else if (strlen(output->path) != size || memcmp(output->path, path, size) != 0)
		log_warning("%s is in use by another run: writing to %s", path, output->path);
	return r;
}

/* Until the new run writes what is true of it, the next one finds there what this one has found. */
static int copy_mark(const char *mark, int to)
{
	int from = open(mark, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t size = 1;

	while (from >= 0 && size > 0)
		size = sendfile(to, from, NULL, MARK_PIECE);
	int r = size < 0 || lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
	if (from >= 0)
		close(from);
	return r;
}

/* Returns whether a mark is that of the step with this first aggregator. NULL: of any. */
static bool is_mark_of(const char *mark, const char *first)
{
	struct rendezvous now;
	char *error = NULL;
	const int r = first ? rendezvous_read(mark, &now, &error) : 0;

	free(error);
	return r == 0 && (!first || strcmp(now.first, first) == 0);
}

/* Makes a new mark in place of the other run's, whose lock may still be held. first: as in output_dir_take_over(). */
static int replace_mark(struct output_dir *output, const char *first)
{
	char mark[PATH_MAX], made[PATH_MAX];
	int size, r = output_dir_file(output, OUTPUT_MARK, mark);

	size = snprintf(made, sizeof(made), "%s.XXXXXX", mark);
	if (r || size >= (int)sizeof(made))
		return -ENAMETOOLONG;
	output->mark = mkostemp(made, O_CLOEXEC);
	if (output->mark < 0)
		return -errno;
	r = lock_mark(output->mark, true);
	if (r == 0)
		r = copy_mark(mark, output->mark);
	if (r == 0 && !is_mark_of(made, first))
		r = -ESTALE;
	if (r == 0 && rename(made, mark) < 0)
		r = -errno;
	if (r) {
		unlink(made);
		close(output->mark);
		output->mark = -1;
	}
	return r;
}

int output_dir_join(struct output_dir *output, const char *path, const char *number)
{
	char numbered[PATH_MAX];

	*output = (struct output_dir){.mark = -1};
	return snprintf(numbered, sizeof(numbered), "%s%s", path, number) < (int)sizeof(numbered)
		       ? take_path(output, numbered)
		       : -ENAMETOOLONG;
}

int output_dir_take_over(struct output_dir *output, const char *path, const char *number,
			 const char *first)
{
	int r = output_dir_join(output, path, number);

	if (r == 0)
		r = replace_mark(output, first);
	if (r == -ESTALE)
		log_warning("%s%s is another run's by now", path, number);
	else if (r)
		log_error("%s%s: cannot be written: %s", path, number, strerror(-r));
	return r;
}

/* Takes the place back from a run that did nothing. If that fails, the old mark is kept, and no lock is lost. */
static void take_back(struct output_dir *output)
{
	const int ours = output->mark;

	if (replace_mark(output, NULL) == 0)
		close(ours);
	else
		output->mark = ours;
}

bool output_dir_is_taken_over(struct output_dir *output, const char *first)
{
	char mark[PATH_MAX];

	if (output->mark < 0 || mark_is_ours(output, mark))
		return false;
	if (!is_mark_of(mark, first))
		return false;
	if (rendezvous_is_held(mark) != 0)
		return true;
	take_back(output);
	return false;
}

void output_dir_leave(struct output_dir *output)
{
	if (output->mark >= 0)
		close(output->mark);
	output->mark = -1;
}

void output_dir_close(struct output_dir *output, bool keep)
{
	char mark[PATH_MAX];

	if (output->mark < 0)
		return;
	/* The directory may have been removed, and made again by another run. */
	if (!keep && mark_is_ours(output, mark)) {
		visit_files(output->path, remove_file, output->path);
		put_back(output);
	}
	give_back(output, !keep);
}

bool output_dir_is_shared(const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return false;
	while (access(folder, F_OK) && (slash = strrchr(folder, '/')) != NULL && slash > folder)
		*slash = '\0';
	if (access(folder, F_OK)) /* a name without a directory, or below "/" */
		strcpy(folder, *folder == '/' ? "/" : ".");
	return shared_disk_has(folder);
}

/* Returns whether a path is that of a file that a run has made of the store beside it, which is written into buffer. */
static bool is_made_of_store(const char *path, char buffer[static PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return (strcmp(name, OUTPUT_HTML) == 0 || strcmp(name, OUTPUT_FOLDED) == 0) &&
	       snprintf(buffer, PATH_MAX, "%.*s" OUTPUT_STORE, (int)(name - path), path) <
		       PATH_MAX &&
	       access(buffer, F_OK) == 0;
}

const char *output_dir_store(const char *path, char buffer[static PATH_MAX])
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		snprintf(buffer, PATH_MAX, "%s/" OUTPUT_STORE, path);
	else if (!is_made_of_store(path, buffer))
		return path;
	return buffer;
}
