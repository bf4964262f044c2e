#include "profile_part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_schema.h"
#include "aggregator/store/store_timeline.h"
#include "cli/base/output_dir.h"
#include "timeline/log/event_place.h"
#include "timeline/log/event_reader.h"

#define PIECE_SIZE (1u << 20)
#define NEW        OUTPUT_STORE ".new-" /* how the name of a part begins that is not whole yet */

static int copy(int from, int to)
{
	ssize_t size;

	while ((size = sendfile(to, from, NULL, PIECE_SIZE)) != 0)
		if (size < 0 && errno != EINTR)
			return -errno;
	return fsync(to) < 0 ? -errno : 0;
}

/* Whether the store has a log, which nobody could bring into it because its disk is full. */
static bool has_log(const char *store_path)
{
	char path[PATH_MAX];
	struct stat status;

	return snprintf(path, sizeof(path), "%s-wal", store_path) < (int)sizeof(path) &&
	       stat(path, &status) == 0 && status.st_size > 0;
}

/* Writes the store with its log into the empty file, from front to end and without a journal. */
static int copy_with_log(const char *store_path, const char *new_path, int to)
{
	struct database *database;
	int r = database_open(store_path, true, &database, NULL);

	if (r == 0)
		r = database_copy(database, new_path, UINT64_MAX);
	database_close(database);
	return r == 0 && fsync(to) < 0 ? -errno : r;
}

static int add(int from, const char *logged_path, int directory, const char *directory_path,
	       const char *new_name, const char *name)
{
	char new_path[PATH_MAX];
	int to = openat(directory, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (to < 0)
		return -errno;
	snprintf(new_path, sizeof(new_path), "%s/%s", directory_path, new_name);
	int r = logged_path ? copy_with_log(logged_path, new_path, to) : copy(from, to);
	if (close(to) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(directory, new_name, directory, name) < 0)
		r = -errno;
	if (r)
		unlinkat(directory, new_name, 0);
	return r;
}

bool profile_part_is_known(const char *store_path, const char *directory)
{
	char sql[128], path[PATH_MAX], writer[2 * STORE_WRITER_SIZE + 1] = "";
	struct database *database;
	int64_t count = 0;

	if (snprintf(path, sizeof(path), "%s/" OUTPUT_STORE, directory) >= (int)sizeof(path) ||
	    access(path, F_OK) || database_open(store_path, true, &database, NULL))
		return false;
	int error = database_query_text(
		database, "SELECT CAST(hex(writer) AS BLOB) FROM writers WHERE id = 1", writer,
		sizeof(writer));
	database_close(database);
	if (error || !*writer || database_open(path, true, &database, NULL))
		return false;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM writers WHERE writer = x'%s'", writer);
	error = database_query_number(database, sql, &count);
	database_close(database);
	return !error && count;
}

int profile_part_add(const char *store_path, const char *directory_path, char part[static PATH_MAX])
{
	char name[sizeof(OUTPUT_PART) + 16], new_name[sizeof(NEW) + 16];
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(name, sizeof(name), OUTPUT_PART "%016llx", (unsigned long long)number);
	snprintf(new_name, sizeof(new_name), NEW "%016llx", (unsigned long long)number);
	if (snprintf(part, PATH_MAX, "%s/%s", directory_path, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	int from = open(store_path, O_RDONLY | O_CLOEXEC);
	int directory = from < 0 ? -1 : open(directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = directory < 0 ? -errno : 0;
	if (r == 0)
		r = add(from, has_log(store_path) ? store_path : NULL, directory, directory_path,
			new_name, name);
	if (directory >= 0)
		close(directory);
	if (from >= 0)
		close(from);
	return r;
}

/* ---- the timeline */

static int copy_file(int from_folder, int to_folder, const char *name)
{
	int from = openat(from_folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = from < 0 ? -1
			  : openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = to < 0 ? -errno : copy(from, to);

	if (to >= 0 && close(to) < 0 && r == 0)
		r = -errno;
	if (from >= 0)
		close(from);
	return r;
}

static int copy_files(const char *from_path, const char *to_path)
{
	DIR *from = opendir(from_path);
	int to = from ? open(to_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	int r = to < 0 ? -errno : 0;
	const struct dirent *entry;

	while (r == 0 && (entry = readdir(from)) != NULL)
		if (event_reader_number(entry->d_name))
			r = copy_file(dirfd(from), to, entry->d_name);
	if (r == 0 && fsync(to) < 0)
		r = -errno;
	if (to >= 0)
		close(to);
	if (from)
		closedir(from);
	return r;
}

static int copy_folder(const char *from, const char *new_path, const char *to)
{
	int r = mkdir(new_path, 0700) < 0 ? -errno : copy_files(from, new_path);

	if (r == 0)
		r = event_place_move(new_path, to);
	if (r)
		event_place_remove(AT_FDCWD, new_path);
	return r;
}

static int read_id(const char *store_path, uint8_t id[static STORE_TIMELINE_ID], bool *known)
{
	struct database *database;
	int r = database_open(store_path, true, &database, NULL);

	*known = false;
	if (r == 0)
		r = store_timeline_read(database, id, known);
	database_close(database);
	return r;
}

int profile_part_add_timeline(const char *store_path, const char *directory, uint64_t *nr_events)
{
	char base[PATH_MAX], from[PATH_MAX], to[PATH_MAX], new_path[PATH_MAX];
	uint8_t id[STORE_TIMELINE_ID];
	const struct event_asks heads = {.profile = id};
	struct event_sums sums = {0};
	bool known;
	int r = read_id(store_path, id, &known);

	*nr_events = 0;
	if (r || !known || event_reader_read(store_path, &heads, &sums) == -ENOENT)
		return r;
	*nr_events = sums.launches + sums.records;
	if (snprintf(base, sizeof(base), "%s/" OUTPUT_STORE, directory) >= (int)sizeof(base))
		return -ENAMETOOLONG;
	r = event_place_beside(store_path, from);
	if (r == 0)
		r = event_place_by_id(base, id, to);
	if (r == 0 && snprintf(new_path, sizeof(new_path), "%s/" NEW "%s", directory,
			       strrchr(to, '-') + 1) >= (int)sizeof(new_path))
		r = -ENAMETOOLONG;
	return r ? r : copy_folder(from, new_path, to);
}
