#include "profile_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge_choice.h"
#include "merge_copy.h"
#include "merge_union.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_schema.h"
#include "base/error_text.h"

#define TITLE_MAX 4096u

struct merging {
	const struct merge_source *sources;
	uint32_t nr_sources;
	bool of_one_job;
	const char *merged_path;
	struct merge_union *whole;
	struct merge_choice choice;
	char title[TITLE_MAX]; /* the least of all, so that no order makes a difference */
	char **error;
};

/* A profile while it is read: all of one moment. */
struct input {
	struct database *database;
	struct collection *collection;
};

static int fail(const struct merging *merging, const char *path, int status, const char *why)
{
	return error_text_set(merging->error, status, "%s: %s", path, why);
}

static void close_input(struct input *input)
{
	if (input->database)
		database_execute(input->database, "COMMIT");
	database_close(input->database);
	collection_destroy(input->collection);
}

/* Loading checks every reference, so that copying need not. */
static int open_input(const struct merging *merging, uint32_t profile, struct input *input)
{
	const struct merge_source *source = &merging->sources[profile];
	const char *path = source->path;
	struct stat info;
	int status = 0;

	*input = (struct input){.collection = collection_create()};
	/* SQLite says no more than that it is unable to open the file. */
	if (!source->open && stat(path, &info))
		return fail(merging, path, -errno, strerror(errno));
	if (!input->collection)
		return fail(merging, path, -ENOMEM, strerror(ENOMEM));
	status = source->open ? source->open(source->context, &input->database, merging->error)
			      : database_open(path, true, &input->database, merging->error);
	if (status)
		return status;
	status = store_schema_read(input->database, path, merging->error);
	if (status)
		return status == -ENOENT ? fail(merging, path, -EPROTO, "empty") : status;
	status = database_execute(input->database, "BEGIN");
	if (!status)
		status = store_loader_load(input->database, input->collection);
	return status ? fail(merging, path, status,
			     status == -EPROTO ? "damaged: what stands in it cannot be"
					       : database_error(input->database))
		      : 0;
}

static int take_title(struct merging *merging, struct database *database)
{
	char title[TITLE_MAX];
	int error = database_query_text(database,
					"SELECT CAST(value AS BLOB) FROM meta WHERE key = 'title'",
					title, sizeof(title));

	if (!error && *title && (!*merging->title || strcmp(title, merging->title) < 0))
		memcpy(merging->title, title, sizeof(title));
	return error;
}

/* What there is, and how far each profile came. */
static int survey(struct merging *merging, uint32_t profile)
{
	const struct merge_source *source = &merging->sources[profile];
	const char *path = source->path;
	struct merge_map map = {0};
	struct input input;

	int error = source->open ? 0 : store_recover(path);
	if (error)
		return fail(merging, path, error, strerror(-error));
	error = open_input(merging, profile, &input);
	if (!error) {
		error = merge_choice_add(&merging->choice, profile, input.database);
		if (!error)
			error = merge_union_add(merging->whole, input.collection, input.database,
						&map);
		if (!error)
			error = take_title(merging, input.database);
		if (error)
			fail(merging, path, error, strerror(-error));
	}
	merge_map_fini(&map);
	close_input(&input);
	return error;
}

static bool is_chosen(const struct merging *merging, uint32_t profile, uint32_t writer)
{
	for (uint32_t i = 0; i < merging->choice.count; i++) {
		const struct merge_candidate *candidate = &merging->choice.candidates[i];

		if (candidate->profile == profile && candidate->id == writer)
			return candidate->is_chosen;
	}
	return false;
}

struct leaving_out {
	const struct merging *merging;
	struct merge_map *map;
	uint32_t profile;
};

static int leave_out_epoch(struct statement *row, void *context)
{
	const struct leaving_out *leaving_out = context;
	uint32_t id = statement_number32(row, 0);

	if (!is_chosen(leaving_out->merging, leaving_out->profile, statement_number32(row, 1)))
		leaving_out->map->kinds[MERGE_KIND_EPOCH].ids[id - 1] = 0;
	return 0;
}

/* Takes from the map what another profile has of the same writers. */
static int leave_out(const struct merging *merging, uint32_t profile, const struct input *input,
		     struct merge_map *map)
{
	struct leaving_out leaving_out = {merging, map, profile};
	const struct roster *roster = input->collection->roster;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (!is_chosen(merging, profile, roster_process(roster, id)->identity.writer))
			map->kinds[MERGE_KIND_PROCESS].ids[id - 1] = 0;
	for (uint32_t id = 1; id <= map->kinds[MERGE_KIND_WRITER].count; id++)
		if (!is_chosen(merging, profile, id))
			map->kinds[MERGE_KIND_WRITER].ids[id - 1] = 0;
	return database_rows(input->database, "SELECT id, writer FROM epochs", leave_out_epoch,
			     &leaving_out);
}

/* Whether the profile has just what it had when it was surveyed. */
static int check_unchanged(const struct merging *merging, uint32_t profile,
			   struct database *database)
{
	struct merge_choice now = {0};
	int error = merge_choice_add(&now, profile, database);

	for (uint32_t i = 0; i < merging->choice.count && !error; i++) {
		const struct merge_candidate *then = &merging->choice.candidates[i];

		if (then->profile != profile)
			continue;
		const struct merge_candidate *candidate =
			then->id <= now.count ? &now.candidates[then->id - 1] : NULL;
		if (!candidate || candidate->nr_positions != then->nr_positions ||
		    (then->nr_positions && memcmp(candidate->positions, then->positions,
						  then->nr_positions * sizeof(*then->positions))))
			error = -ESTALE;
	}
	merge_choice_fini(&now);
	return error;
}

static bool has_chosen(const struct merging *merging, uint32_t profile)
{
	for (uint32_t i = 0; i < merging->choice.count; i++)
		if (merging->choice.candidates[i].profile == profile &&
		    merging->choice.candidates[i].is_chosen)
			return true;
	return false;
}

static int copy_profile(const struct merging *merging, uint32_t profile, struct merge_copy *copy)
{
	const char *path = merging->sources[profile].path;
	struct merge_map map = {0};
	struct input input;
	int error = open_input(merging, profile, &input);

	if (!error) {
		error = check_unchanged(merging, profile, input.database);
		if (!error)
			error = merge_union_add(merging->whole, input.collection, input.database,
						&map);
		if (!error)
			error = leave_out(merging, profile, &input, &map);
		if (!error)
			error = merge_copy_rows(copy, input.database, &map);
		if (error)
			fail(merging, path, error,
			     error == -ESTALE ? "it grew while it was read: merge once more"
					      : strerror(-error));
	}
	merge_map_fini(&map);
	close_input(&input);
	return error;
}

static int write_title(const struct merging *merging, struct database *database)
{
	struct database_value value = database_bytes(merging->title, strlen(merging->title));
	struct statement *statement;
	int error = statement_create(
		database, "INSERT INTO meta VALUES ('title', CAST(?1 AS TEXT))", &statement);

	if (!error && *merging->title)
		error = statement_run(statement, &value, 1);
	statement_destroy(statement);
	return error;
}

/* The result must be what a reader accepts. */
static int check_result(struct database *database)
{
	struct collection *collection = collection_create();
	int error = collection ? store_loader_load(database, collection) : -ENOMEM;

	collection_destroy(collection);
	return error;
}

static int write_merged(const struct merging *merging, struct database *database)
{
	struct merge_copy *copy = NULL;
	/* Without a journal: until it is whole, the file has another name. */
	int error = database_execute(database, "PRAGMA journal_mode = OFF;"
					       "PRAGMA synchronous = OFF");

	if (!error)
		error = store_schema_create(database);
	if (!error)
		error = database_execute(database, "BEGIN; DELETE FROM writers");
	if (!error)
		error = merge_union_write(merging->whole, database);
	if (!error)
		error = write_title(merging, database);
	if (!error)
		error = merge_copy_create(database, &copy);
	for (uint32_t i = 0; i < merging->nr_sources && !error; i++)
		if (has_chosen(merging, i))
			error = copy_profile(merging, i, copy);
	if (!error)
		error = merge_copy_end(copy);
	merge_copy_destroy(copy);
	if (!error && merging->of_one_job)
		error = store_life_unite(database);
	if (!error)
		error = check_result(database);
	if (!error)
		error = database_execute(database, "COMMIT");
	if (error)
		fail(merging, merging->merged_path, error, database_error(database));
	return error;
}

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0 || fsync(fd))
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* Beside the merged path, and then at it, all at once. */
static int write_file(const struct merging *merging)
{
	char path[PATH_MAX];
	struct database *database = NULL;
	int fd;

	if (access(merging->merged_path, F_OK) == 0)
		return fail(merging, merging->merged_path, -EEXIST, strerror(EEXIST));
	if (snprintf(path, sizeof(path), "%s.%d", merging->merged_path, (int)getpid()) >=
	    (int)sizeof(path))
		return fail(merging, merging->merged_path, -ENAMETOOLONG, strerror(ENAMETOOLONG));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(merging, path, -errno, strerror(errno));
	close(fd);
	int error = database_open(path, false, &database, merging->error);
	if (!error)
		error = write_merged(merging, database);
	database_close(database);
	if (!error) {
		error = sync_file(path);
		if (!error && rename(path, merging->merged_path))
			error = -errno;
		if (error)
			fail(merging, merging->merged_path, error, strerror(-error));
	}
	unlink(path);
	return error;
}

static int merge(struct merging *merging)
{
	uint32_t one, other;
	int error = 0;

	for (uint32_t i = 0; i < merging->nr_sources && !error; i++)
		error = survey(merging, i);
	if (error)
		return error;
	error = merge_choice_make(&merging->choice, &one, &other);
	if (error == -EXDEV)
		return error_text_set(merging->error, error,
				      "%s and %s went on from copies of one profile, each with "
				      "data of its own: they cannot be added up",
				      merging->sources[one].path, merging->sources[other].path);
	if (!error)
		error = merge_union_order(merging->whole);
	return error ? fail(merging, merging->merged_path, error, strerror(-error))
		     : write_file(merging);
}

int profile_merge(const struct merge_source *sources, uint32_t nr_sources, bool of_one_job,
		  const char *merged_path, char **error)
{
	struct merging merging = {.sources = sources,
				  .nr_sources = nr_sources,
				  .of_one_job = of_one_job,
				  .merged_path = merged_path,
				  .whole = merge_union_create(),
				  .error = error};

	*error = NULL;
	int status = merging.whole ? merge(&merging)
				   : fail(&merging, merged_path, -ENOMEM, strerror(ENOMEM));
	merge_union_destroy(merging.whole);
	merge_choice_fini(&merging.choice);
	return status;
}
