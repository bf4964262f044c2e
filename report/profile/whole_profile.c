#include "whole_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile_parts.h"

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/error_text.h"

#define NS_PER_MS      1000000ull
#define WANTED_MS      3000u /* longest wait for the aggregator */
#define WANTED_LOOK_MS 20
#define TRIES          5

static int join(char out[static PATH_MAX], const char *path, const char *suffix, char **error)
{
	return snprintf(out, PATH_MAX, "%s%s", path, suffix) < PATH_MAX
		       ? 0
		       : error_text_set(error, -ENAMETOOLONG, "%s: %s", path,
					strerror(ENAMETOOLONG));
}

static bool wanted_path(const struct profile_part *part, char path[static PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s" PAGE_SET_WANTED, part->nodes_path) < PATH_MAX;
}

/* Asks the process that writes the store for the newest state of the nodes' file. */
static void ask_for_newest(const struct profile_part *part)
{
	char path[PATH_MAX];

	if (!wanted_path(part, path))
		return;
	/* Another reader may have asked already. In another user's directory it may be a link or a
	 * pipe, so one that is there is never opened. */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

/* Waits for the answers. A file whose writer gives none is read as it is. */
static void await_newest(const struct profile_parts *parts)
{
	const uint64_t until_ns = clock_now_ns() + WANTED_MS * NS_PER_MS;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		if (!wanted_path(&parts->parts[i], path))
			continue;
		while (access(path, F_OK) == 0 && clock_now_ns() < until_ns)
			poll(NULL, 0, WANTED_LOOK_MS);
		unlink(path);
	}
}

/* On a file system of several hosts a store has no mark, and nobody else can read it while it is written. */
static bool is_locked(const char *path)
{
	struct database *database;
	int64_t count;
	int error = database_open(path, true, &database, NULL);

	if (!error)
		error = database_query_number(database, "SELECT count(*) FROM sqlite_master",
					      &count);
	database_close(database);
	return error == -EBUSY;
}

/* The nodes of a store that cannot be read are a profile without it. */
static bool is_written(struct profile_part *part)
{
	const bool locked = part->has_store && is_locked(part->path);

	if (!locked && (!part->has_store || !store_life_is_written(part->path)))
		return false;
	part->has_store = !locked;
	if (access(part->nodes_path, F_OK) == 0)
		ask_for_newest(part);
	return true;
}

/* Finds and reads the parts, the newest state of those that are written. */
static int load(struct whole_profile *whole, struct profile_parts *parts, const char *store_path,
		char **error)
{
	int status = profile_parts_find(parts, store_path, error);

	for (uint32_t i = 0; i < parts->nr_parts && !status; i++)
		whole->is_written |= is_written(&parts->parts[i]);
	if (whole->is_written)
		await_newest(parts);
	return status ? status : profile_parts_load(parts, error);
}

static int try_to_open(struct whole_profile *whole, const char *store_path, bool has_timelines,
		       char **error)
{
	struct profile_parts parts = {.parts = NULL};

	*whole = (struct whole_profile){.is_written = false};
	*error = NULL;
	int status = join(whole->path, store_path, "", error);
	if (!status)
		status = load(whole, &parts, store_path, error);
	if (!status && profile_parts_are_several(&parts)) {
		status = merged_dir_create(&whole->merged, error);
		if (!status)
			status = join(whole->path, whole->merged.path, "/" MERGED_DIR_FILE, error);
		if (!status)
			status = profile_parts_merge(&parts, whole->path, has_timelines, error);
	}
	profile_parts_fini(&parts);
	return status;
}

/* Parts grow, and others are put into one, while they are read. */
int whole_profile_open(struct whole_profile *whole, const char *store_path, bool has_timelines,
		       char **error)
{
	int status = try_to_open(whole, store_path, has_timelines, error);

	for (int i = 1;
	     i < TRIES && *whole->merged.path && (status == -ESTALE || status == -ENOENT); i++) {
		whole_profile_close(whole);
		free(*error);
		status = try_to_open(whole, store_path, has_timelines, error);
	}
	return status;
}

void whole_profile_close(struct whole_profile *whole)
{
	merged_dir_remove(&whole->merged);
}

int whole_profile_salvage(struct whole_profile *whole)
{
	char damaged_path[PATH_MAX], *why = NULL;
	const struct merge_source source = {.path = damaged_path};

	if (whole->is_written || *whole->merged.path)
		return -EPROTO;
	strcpy(damaged_path, whole->path);
	int status = merged_dir_create(&whole->merged, &why);
	if (!status)
		status = join(whole->path, whole->merged.path, "/" MERGED_DIR_FILE, &why);
	if (!status)
		status = profile_merge(&source, 1, true, whole->path, &why);
	free(why);
	return status ? -EPROTO : 0;
}

bool whole_profile_is_closed(const char *store_path)
{
	enum store_life life = STORE_LIFE_OPEN;
	struct database *database;
	int32_t nr_nodes;

	if (access(store_path, F_OK) || store_life_is_written(store_path) ||
	    database_open(store_path, true, &database, NULL))
		return false;
	int error = store_life_read(database, &life, &nr_nodes);
	database_close(database);
	return !error && life == STORE_LIFE_CLOSED;
}

/* A further part that nobody can read has a writer, who makes one store of it later. */
static void leave_out_locked(struct profile_parts *parts)
{
	for (uint32_t i = parts->nr_parts; i-- > 1;)
		if (parts->parts[i].has_store && is_locked(parts->parts[i].path))
			profile_parts_leave_out(parts, i);
}

int whole_profile_settle(const char *store_path, char **error)
{
	struct profile_parts parts;
	char merged_path[PATH_MAX];
	int status = profile_parts_find(&parts, store_path, error);

	if (!status)
		leave_out_locked(&parts);
	if (!status)
		status = profile_parts_load(&parts, error);
	if (!status && profile_parts_are_several(&parts)) {
		status = join(merged_path, store_path, PROFILE_PARTS_MERGED, error);
		if (!status) {
			profile_parts_forget(merged_path, store_path);
			status = profile_parts_merge(&parts, merged_path, true, error);
		}
		if (!status) {
			status = profile_parts_replace(&parts, merged_path);
			if (status)
				error_text_set(error, status, "%s: %s", merged_path,
					       strerror(-status));
			else
				status = 1;
		}
	}
	profile_parts_fini(&parts);
	return status;
}
