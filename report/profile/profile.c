#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile_accounts.h"
#include "profile_collectives.h"
#include "profile_idle.h"

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_clocks.h"
#include "aggregator/store/store_joins.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_placement.h"
#include "aggregator/store/store_raw.h"
#include "aggregator/store/store_schema.h"
#include "aggregator/store/store_streams.h"
#include "aggregator/store/store_timeline.h"
#include "aggregator/store/store_totals.h"
#include "base/clock.h"
#include "base/error_text.h"

/* key: a literal, in SQL's quotes */
static int load_text(struct database *database, const char *key, char **loaded)
{
	char text[4096], sql[128];

	snprintf(sql, sizeof(sql), "SELECT CAST(value AS BLOB) FROM meta WHERE key = %s", key);
	int error = database_query_text(database, sql, text, sizeof(text));
	if (error || !*text)
		return error;
	*loaded = strdup(text);
	return *loaded ? 0 : -ENOMEM;
}

/* Sums, and what tells how they came to be. */
static int load_sums(struct database *database, struct profile *profile)
{
	int error = store_loader_load_closed(database, profile->collection);

	if (!error)
		error = profile_totals_load(database, &profile->totals,
					    profile->collection->totals);
	if (!error)
		error = store_totals_read(database, STORE_TOTALS_SAMPLES,
					  profile->collection->samples);
	if (!error)
		error = profile_idle_load(database, profile->collection,
					  profile_has_note(profile, STORE_NOTE_DAMAGED) ||
						  profile_has_note(profile, STORE_NOTE_UNSENT),
					  &profile->idle, &profile->idle_left_out);
	if (!error)
		error = store_placement_read(database, profile->collection);
	if (!error)
		error = store_joins_count(database, profile->collection->roster);
	return error ? error : profile_collectives_splits(database, &profile->splits);
}

static int load_names(struct database *database, struct profile *profile)
{
	int error = store_loader_load_names(database, profile->collection, STORE_LOADER_ACCOUNTS);

	return error ? error : store_streams_load(database, profile->collection);
}

/* One transaction makes totals, dictionaries and waiting records belong to the same moment. */
static int load_all(struct database *database, struct profile *profile, bool names_alone,
		    enum store_life *life)
{
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_note_read(database, &profile->notes, &profile->nr_notes);
	if (!error)
		error = names_alone ? load_names(database, profile) : load_sums(database, profile);
	if (!error)
		error = store_clocks_read(database, profile->collection);
	if (!error)
		error = store_raw_newest(database, &profile->raw_samples);
	if (!error)
		error = load_text(database, "'title'", &profile->title);
	if (!error)
		error = load_text(database, "'" STORE_TIMELINE_SLICE "'", &profile->slice);
	if (!error)
		error = store_timeline_read(database, profile->timeline_id, &profile->has_timeline);
	if (!error)
		error = store_life_read(database, life, &profile->nr_nodes);
	if (!error)
		error = store_life_writers(database, &profile->nr_writers, &profile->nr_open);
	database_execute(database, "COMMIT");
	return error;
}

/* Records that still wait are folded without a launch in this copy. The counts stay as they were stored, so launches in
 * flight do not expire. */
static int fold_waiting(struct profile *profile)
{
	struct roster *roster = profile->collection->roster;
	int error = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes && !error; id++) {
		struct correlator *correlator = roster_process(roster, id)->correlator;

		if (correlator) {
			profile->waiting += correlator_waiting(correlator);
			error = correlator_finish(correlator);
		}
		if (!error && roster_process(roster, id)->memory)
			error = memory_account_finish(roster_process(roster, id)->memory);
	}
	return error;
}

static int explain(const char *path, int status, const char *what, char **error)
{
	return error_text_set(error, status, "%s: %s", path, what);
}

/* The store had no mark when it was first looked at. A store that rested then may have a writer by now. */
static bool is_still_written(const char *path, enum store_life life)
{
	return life == STORE_LIFE_RESTS ? store_life_is_kept(path)
					: life == STORE_LIFE_OPEN && store_life_is_written(path);
}

static int load(const char *path, struct profile *profile, bool names_alone, char **error)
{
	enum store_life life = STORE_LIFE_OPEN;
	struct database *database;
	struct stat info;

	profile->collection = collection_create();
	if (!profile->collection)
		return explain(path, -ENOMEM, strerror(ENOMEM), error);
	/* SQLite would only say that it cannot open the file. */
	if (stat(path, &info))
		return explain(path, -errno, strerror(errno), error);
	int status = store_recover(path);
	if (status)
		return explain(path, status, strerror(-status), error);
	/* This is read first: a writer that closes the store meanwhile adds to it and never takes away. */
	profile->written = store_life_is_written(path);
	profile->read_ns = clock_realtime_ns();
	status = database_open(path, true, &database, error);
	if (status)
		return explain(path, status, strerror(-status), error);
	status = names_alone ? store_schema_read_names(database, path, error)
			     : store_schema_read(database, path, error);
	if (status == -ENOENT)
		explain(path, status, "empty: no aggregator has written to it yet", error);
	if (!status) {
		status = load_all(database, profile, names_alone, &life);
		if (status == -EPROTO)
			explain(path, status, "damaged: what stands in it cannot be", error);
	}
	if (status)
		explain(path, status, database_error_of(database, status), error);
	database_close(database);
	if (!profile->written)
		profile->written = is_still_written(path, life);
	profile->abandoned = !profile->written && life != STORE_LIFE_CLOSED;
	return status;
}

static int create(const char *path, bool names_alone, struct profile **profile, char **error)
{
	if (error)
		*error = NULL;
	*profile = calloc(1, sizeof(**profile));
	if (!*profile)
		return -ENOMEM;

	int status = load(path, *profile, names_alone, error);
	if (!status)
		status = fold_waiting(*profile);
	if (!status && !names_alone)
		status = profile_join_accounts((*profile)->collection->roster);
	if (status) {
		explain(path, status, strerror(-status), error);
		profile_destroy(*profile);
		*profile = NULL;
	}
	return status;
}

int profile_load(const char *path, struct profile **profile, char **error)
{
	return create(path, false, profile, error);
}

int profile_load_names(const char *path, struct profile **profile, char **error)
{
	return create(path, true, profile, error);
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	collection_destroy(profile->collection);
	profile_totals_fini(&profile->totals);
	fold_table_destroy(profile->idle);
	collective_splits_fini(&profile->splits);
	free(profile->title);
	free(profile->slice);
	free(profile->notes);
	free(profile);
}

int profile_each_total(const struct profile *profile,
		       int (*take)(void *context, const struct fold_row *row), void *context)
{
	return profile_totals_each(&profile->totals, profile->collection->totals, take, context);
}

bool profile_has_note(const struct profile *profile, enum store_note_kind kind)
{
	for (uint32_t i = 0; i < profile->nr_notes; i++)
		if (profile->notes[i].kind == kind)
			return true;
	return false;
}

bool profile_is_simulated(const struct profile *profile)
{
	const struct collection *collection = profile->collection;

	for (uint32_t id = 1; id <= roster_size(collection->roster).devices; id++)
		if (strcasestr(catalog_string(collection->catalog,
					      roster_device(collection->roster, id)->name, NULL),
			       "simulated"))
			return true;
	return false;
}
