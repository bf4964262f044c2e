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
#include "merge_note.h"
#include "merge_salvage.h"
#include "merge_timeline.h"
#include "merge_title.h"
#include "merge_union.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_check.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_schema.h"
#include "aggregator/store/store_timeline.h"
#include "aggregator/store/store_totals.h"
#include "base/error_text.h"

struct merging {
	struct merge_source *sources; /* owns; those that are given, or what is whole of them */
	uint32_t nr_sources;
	bool of_one_job;
	const char *merged_path;
	struct merge_union *whole;
	struct merge_map *maps; /* of each source; owns */
	struct merge_choice choice;
	struct merge_notes notes;
	/* damaged sources, which the next attempt leaves out, or of which it takes what is whole */
	bool *is_left_out; /* for each source; owns */
	uint32_t nr_left_out;
	struct merge_salvage salvage;
	struct merge_notes left_out;
	struct merge_timeline timeline;
	char *reason; /* why the first one is; owns */
	struct merge_title title;
	char **error;
};

struct merge_output { /* borrowed */
	struct database *database;
	const char *path;
	struct merge_copy *copy;
};

static int fail(const struct merging *merging, const char *path, int status, const char *why)
{
	return error_text_set(merging->error, status, "%s: %s", path, why);
}

static void close_input(struct database *database)
{
	if (database)
		database_execute(database, "COMMIT");
	database_close(database);
}

/* Opens a profile, to read all of one moment. */
static int open_input(const struct merging *merging, uint32_t profile, enum merge_part part,
		      struct database **database)
{
	const struct merge_source *source = &merging->sources[profile];
	const char *path = merge_salvage_path(&merging->salvage, profile, source);
	struct stat info;
	int status;

	*database = NULL;
	if (source->open) {
		status = source->open(source->context, part, database, merging->error);
	} else if (stat(path, &info)) {
		/* SQLite says no more than that it is unable to open the file. */
		status = fail(merging, path, -errno, strerror(errno));
	} else {
		status = database_open(path, true, database, merging->error);
		if (!status)
			status = store_schema_read(*database, path, merging->error);
		/* Of one job's parts one may have been made, and its writer killed before it wrote to it. */
		if (status == -ENOENT)
			status = merging->of_one_job ? -ENODATA
						     : fail(merging, path, -EPROTO, "empty");
	}
	if (status)
		return status;
	status = database_execute(*database, "BEGIN");
	return status ? fail(merging, path, status, database_error_of(*database, status)) : 0;
}

/* Returns how many sources will be taken otherwise than in this attempt. */
static uint32_t nr_changes(const struct merging *merging)
{
	return merging->nr_left_out + merging->salvage.nr_taken;
}

/* Takes another store in place of one that could not be read for this error. 0, or the error. */
static int salvage_source(struct merging *merging, uint32_t profile, int error)
{
	struct merge_source *source = &merging->sources[profile];

	if (merge_salvage_take(&merging->salvage, profile, source, error))
		return error;
	if (error == -EPROTO && source->is_left_out)
		*source->is_left_out = true;
	free(*merging->error);
	*merging->error = NULL;
	return 0;
}

/* Takes the line about a damaged source as the reason. */
static int leave_source_out(struct merging *merging, uint32_t profile)
{
	struct database *database;

	if (merging->sources[profile].is_left_out)
		*merging->sources[profile].is_left_out = true;
	if (!salvage_source(merging, profile, -EPROTO))
		return 0;
	if (merging->reason)
		free(*merging->error);
	else
		merging->reason = *merging->error;
	*merging->error = NULL;
	merging->is_left_out[profile] = true;
	merging->nr_left_out++;
	/* It may still tell its host. */
	if (open_input(merging, profile, MERGE_PART_NAMES, &database)) {
		free(*merging->error);
		*merging->error = NULL;
	}
	int error = merge_notes_add_whole(&merging->left_out, profile, &merging->sources[profile],
					  database);
	close_input(database);
	return error;
}

static int load_names(const struct merging *merging, const char *path, struct database *database,
		      struct collection *collection)
{
	int status = store_loader_load_names(database, collection, STORE_LOADER_STACKS);

	return status ? fail(merging, path, status,
			     status == -EPROTO ? "damaged: what stands in it cannot be"
					       : database_error_of(database, status))
		      : 0;
}

/* The sums of a part by time are a part of those of its whole, and it has no ledger of its own. */
static int refuse_slice(struct merging *merging, const char *path, struct database *database)
{
	bool is_slice;
	int error = store_timeline_is_slice(database, &is_slice);

	if (error)
		return fail(merging, path, error, database_error_of(database, error));
	return is_slice ? fail(merging, path, -EINVAL,
			       "a part of a profile by time, which does not merge: merge the whole "
			       "profiles, and take the time of that")
			: 0;
}

/* Reads the names of a source, and how far its profile came. *is_store: the source is a store, so that an error tells
 * of damage in it. */
static int survey(struct merging *merging, uint32_t profile, bool *is_store)
{
	const struct merge_source *source = &merging->sources[profile];
	const char *path = source->path;
	struct collection *collection = NULL;
	struct database *database;

	const bool is_salvaged = merge_salvage_path(&merging->salvage, profile, source) != path;
	int error = source->open || is_salvaged ? 0 : store_recover(path);
	if (error)
		return fail(merging, path, error, strerror(-error));
	error = open_input(merging, profile, MERGE_PART_NAMES, &database);
	if (error == -ENODATA) {
		close_input(database);
		return 0;
	}
	*is_store = !error;
	if (!error)
		error = refuse_slice(merging, path, database);
	if (!error && !(collection = collection_create()))
		error = fail(merging, path, -ENOMEM, strerror(ENOMEM));
	if (!error)
		error = load_names(merging, path, database, collection);
	if (!error) {
		error = merge_choice_add(&merging->choice, profile, database);
		if (!error)
			error = merge_union_add(merging->whole, collection, database,
						&merging->maps[profile]);
		if (!error)
			error = merge_notes_add(&merging->notes, profile, source, database);
		if (!error)
			error = merge_title_take(&merging->title, database);
		if (error)
			fail(merging, path, error, strerror(-error));
	}
	collection_destroy(collection);
	close_input(database);
	return error;
}

static int survey_all(struct merging *merging)
{
	int error = 0;

	for (uint32_t i = 0; i < merging->nr_sources && !error; i++) {
		bool is_store = false;

		if (merging->is_left_out[i])
			continue;
		error = survey(merging, i, &is_store);
		if (error)
			error = salvage_source(merging, i, error);
		if (error == -EPROTO && (is_store || merging->of_one_job))
			error = leave_source_out(merging, i);
	}
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
	uint32_t profile;
	struct merge_ids *ids; /* of what the rows are */
};

static int leave_out_row(struct statement *row, void *context)
{
	const struct leaving_out *leaving_out = context;
	const uint32_t id = statement_number32(row, 0);

	if (id == 0 || id > leaving_out->ids->count)
		return -EPROTO;
	if (!is_chosen(leaving_out->merging, leaving_out->profile, statement_number32(row, 1)))
		leaving_out->ids->ids[id - 1] = 0;
	return 0;
}

/* Takes from the map what another profile has of the same writers. */
static int leave_out(const struct merging *merging, uint32_t profile, struct database *database,
		     struct merge_map *map)
{
	static const struct {
		enum merge_kind kind;
		const char *sql; /* ids and writers */
	} kinds[] = {{MERGE_KIND_WRITER, "SELECT id, id FROM writers"},
		     {MERGE_KIND_EPOCH, "SELECT id, writer FROM epochs"},
		     {MERGE_KIND_PROCESS, "SELECT id, writer FROM processes"}};
	int error = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !error; i++) {
		struct leaving_out leaving_out = {merging, profile, &map->kinds[kinds[i].kind]};

		error = database_rows(database, kinds[i].sql, leave_out_row, &leaving_out);
	}
	return error;
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

static int copy_timeline(struct merging *merging, uint32_t profile,
			 const struct merge_output *output, struct database *database)
{
	const struct merge_source *source = &merging->sources[profile];
	int error = merge_timeline_add(&merging->timeline, output->database, output->path, database,
				       source, &merging->maps[profile]);

	return error ? error_text_set(merging->error, error == -EPROTO ? -EIO : error,
				      "%s: its timeline cannot be copied: %s", source->path,
				      strerror(-error))
		     : 0;
}

static int copy_profile(struct merging *merging, uint32_t profile,
			const struct merge_output *output)
{
	const char *path = merging->sources[profile].path;
	struct merge_map *map = &merging->maps[profile];
	struct database *database;
	int error = open_input(merging, profile, MERGE_PART_ROWS, &database);

	if (!error) {
		merge_union_order_map(merging->whole, map);
		error = check_unchanged(merging, profile, database);
		if (!error)
			error = leave_out(merging, profile, database, map);
		if (!error)
			error = merge_copy_rows(output->copy, database, map);
		if (error)
			fail(merging, path, error,
			     error == -ESTALE   ? "it grew while it was read: merge once more"
			     : error == -EPROTO ? "damaged: what stands in it cannot be"
						: strerror(-error));
	}
	if (!error)
		error = copy_timeline(merging, profile, output, database);
	merge_map_fini(map);
	close_input(database);
	return error;
}

/* Leaves out the sources that no reader accepts. -EPROTO: there is none. */
static int find_damaged(struct merging *merging)
{
	const uint32_t before = nr_changes(merging);
	int error = 0;

	for (uint32_t i = 0; i < merging->nr_sources && !error; i++) {
		struct database *database;

		if (merging->is_left_out[i] || !merge_choice_has(&merging->choice, i))
			continue;
		error = open_input(merging, i, MERGE_PART_ALL, &database);
		if (!error && (error = store_check(database)) != 0)
			fail(merging, merging->sources[i].path, error,
			     "damaged: what stands in it cannot be");
		close_input(database);
		if (error == -EPROTO)
			error = leave_source_out(merging, i);
	}
	return error || nr_changes(merging) > before ? error : -EPROTO;
}

static int copy_all(struct merging *merging, const struct merge_output *output)
{
	int error = 0;

	for (uint32_t i = 0; i < merging->nr_sources && !error; i++) {
		if (!merge_choice_has(&merging->choice, i))
			continue;
		error = copy_profile(merging, i, output);
		if (error == -EPROTO)
			error = leave_source_out(merging, i);
	}
	return error;
}

static int write_notes(const struct merging *merging, struct database *database)
{
	int error = merge_notes_write(&merging->left_out, &merging->choice, database);

	return error ? error : merge_notes_write(&merging->notes, &merging->choice, database);
}

/* -EAGAIN: sources were left out meanwhile. */
static int write_merged(struct merging *merging, struct database *database, const char *path)
{
	const uint32_t before = nr_changes(merging);
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
		error = merge_title_write(&merging->title, database);
	if (!error)
		error = merge_copy_create(database, &copy);
	if (!error)
		error = write_notes(merging, database);
	if (!error)
		error = copy_all(merging, &(struct merge_output){database, path, copy});
	merge_timeline_close(&merging->timeline);
	if (!error && nr_changes(merging) == before)
		error = merge_copy_end(copy,
				       merging->of_one_job ? STORE_TOTALS_SPREAD_MAX : INT64_MAX);
	merge_copy_destroy(copy);
	if (!error && nr_changes(merging) > before)
		return -EAGAIN;
	if (!error && merging->of_one_job)
		error = store_life_unite(database);
	if (!error)
		error = store_check(database);
	if (error == -EPROTO && !find_damaged(merging))
		return -EAGAIN;
	if (!error)
		error = database_execute(database, "COMMIT");
	if (error)
		fail(merging, merging->merged_path, error, database_error_of(database, error));
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
static int write_file(struct merging *merging)
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
		error = write_merged(merging, database, path);
	database_close(database);
	if (!error) {
		error = sync_file(path);
		if (!error)
			error = merge_timeline_move(path, merging->merged_path);
		if (!error && rename(path, merging->merged_path)) {
			error = -errno;
			merge_timeline_remove(merging->merged_path);
		}
		if (error)
			fail(merging, merging->merged_path, error, strerror(-error));
	}
	merge_timeline_remove(path);
	unlink(path);
	return error;
}

/* Leaves out what is whole of a damaged source if others have all of its writers: its names are in part made up.
 * Returns whether there was such a source. */
static bool leave_out_needless(struct merging *merging)
{
	const uint32_t before = merging->nr_left_out;

	for (uint32_t i = 0; i < merging->nr_sources; i++) {
		if (!merging->salvage.list[i].path || merging->is_left_out[i] ||
		    merge_choice_has(&merging->choice, i))
			continue;
		merging->is_left_out[i] = true;
		merging->nr_left_out++;
	}
	return merging->nr_left_out > before;
}

/* -EAGAIN: sources were left out, and what they brought has to go: once more. */
static int merge_once(struct merging *merging)
{
	const uint32_t before = nr_changes(merging);
	uint32_t one, other;
	int error = survey_all(merging);

	if (error)
		return error;
	if (merging->nr_left_out == merging->nr_sources)
		return error_text_set(merging->error, -EPROTO, "%s", merging->reason);
	if (nr_changes(merging) > before)
		return -EAGAIN;
	if (!merging->choice.count)
		return fail(merging, merging->merged_path, -EPROTO, "all its parts are empty");
	merge_notes_mark(&merging->notes, &merging->choice);
	error = merge_choice_make(&merging->choice, &one, &other);
	if (error == -EXDEV)
		return error_text_set(merging->error, error,
				      "%s and %s went on from copies of one profile, each with "
				      "data of its own: they cannot be added up",
				      merging->sources[one].path, merging->sources[other].path);
	if (!error && leave_out_needless(merging))
		return -EAGAIN;
	if (!error)
		error = merge_union_order(merging->whole);
	return error ? fail(merging, merging->merged_path, error, strerror(-error))
		     : write_file(merging);
}

static void forget(struct merging *merging)
{
	for (uint32_t i = 0; i < merging->nr_sources; i++)
		merge_map_fini(&merging->maps[i]);
	merge_union_destroy(merging->whole);
	merge_choice_fini(&merging->choice);
	merge_notes_fini(&merging->notes);
	merging->title = (struct merge_title){0};
}

/* Each attempt but the last one leaves out one source at least, or takes what is whole of one. */
static int merge(struct merging *merging)
{
	int status;

	do {
		merging->whole = merge_union_create();
		status = merging->whole
				 ? merge_once(merging)
				 : fail(merging, merging->merged_path, -ENOMEM, strerror(ENOMEM));
		forget(merging);
	} while (status == -EAGAIN);
	return status;
}

int profile_merge(const struct merge_source *sources, uint32_t nr_sources, bool of_one_job,
		  const char *merged_path, char **error)
{
	struct merging merging = {.sources = calloc(nr_sources + 1ull, sizeof(*sources)),
				  .nr_sources = nr_sources,
				  .of_one_job = of_one_job,
				  .merged_path = merged_path,
				  .maps = calloc(nr_sources + 1ull, sizeof(*merging.maps)),
				  .is_left_out = calloc(nr_sources + 1ull, sizeof(bool)),
				  .error = error};

	*error = NULL;
	const bool has_room = !merge_salvage_init(&merging.salvage, merged_path, nr_sources) &&
			      merging.sources && merging.maps && merging.is_left_out;
	if (has_room && nr_sources)
		memcpy(merging.sources, sources, nr_sources * sizeof(*sources));
	int status =
		has_room ? merge(&merging) : fail(&merging, merged_path, -ENOMEM, strerror(ENOMEM));
	merge_notes_fini(&merging.left_out);
	free(merging.reason);
	merge_salvage_fini(&merging.salvage);
	free(merging.is_left_out);
	free(merging.maps);
	free(merging.sources);
	return status;
}
