#include "profile_slice.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slice_fold.h"

#include "aggregator/store/database.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_schema.h"
#include "aggregator/store/store_timeline.h"
#include "aggregator/store/store_writer.h"
#include "base/error_text.h"
#include "timeline/perfetto/timeline_events.h"

#define NEW_SUFFIX ".new"

/* Leaves what names things. The new writers' ids keep a merge from taking the part for the whole. */
static const char strip[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
	"DELETE FROM totals; DELETE FROM total_blocks; DELETE FROM timelines;"
	"DELETE FROM timeline_blocks; DELETE FROM pending; DELETE FROM ledger;"
	"DELETE FROM api_calls; DELETE FROM kernel_configs; DELETE FROM memory;"
	"DELETE FROM memory_stacks; DELETE FROM host_samples; DELETE FROM sample_blocks;"
	"DELETE FROM sample_levels; DELETE FROM idle_devices; DELETE FROM idle_blocks;"
	"DELETE FROM raw_samples; DELETE FROM communicators; DELETE FROM collectives;"
	"DELETE FROM collective_kernels; DELETE FROM collective_joins;"
	"DELETE FROM collective_folds; DELETE FROM collective_members;"
	"DELETE FROM collective_sums; DELETE FROM collective_splits;"
	"DELETE FROM launch_delays; DELETE FROM device_telemetry; DELETE FROM launch_cpus;"
	"DELETE FROM messages; DELETE FROM epoch_ids;"
	"UPDATE processes SET state = 1, launches = 0, failed = 0, expired = 0, records = 0,"
	" matched = 0, unmatched = 0, invalid = 0;"
	"UPDATE epochs SET state = 1;"
	"UPDATE writers SET writer = randomblob(16), closed = 1;"
	"COMMIT";

static int explain(struct database *database, const char *path, int status, char **error)
{
	return error_text_set(error, status, "%s: %s", path, database_error(database));
}

/* ---- the copy */

static int copy(const char *store_path, const char *path, char **error)
{
	struct database *whole;
	int64_t version;
	int status = database_open(store_path, true, &whole, error);

	if (status)
		return status;
	status = database_query_number(whole, "PRAGMA user_version", &version);
	if (!status && version != STORE_SCHEMA_VERSION)
		status =
			error_text_set(error, -EPROTO,
				       "%s: an earlier version wrote it: `flamegrid merge` makes a "
				       "profile of this version",
				       store_path);
	else if (!status)
		status = database_copy(whole, path, UINT64_MAX);
	if (status && !*error)
		status = explain(whole, store_path, status, error);
	database_close(whole);
	return status;
}

/* "0.500 s from 1.000000 s on" */
static int set_words(struct database *database, const struct profile_slice *slice,
		     const struct timeline_events *events)
{
	const uint64_t from_ns = slice->request->from_ns > slice->first_ns ? slice->request->from_ns
									   : slice->first_ns;
	uint64_t to_ns = slice->request->to_ns;
	struct statement *statement;
	char text[128];

	for (uint32_t i = 0; i < events->nr_work && slice->request->to_ns == UINT64_MAX; i++)
		if (to_ns == UINT64_MAX || events->work[i].end_ns > to_ns)
			to_ns = events->work[i].end_ns;
	snprintf(text, sizeof(text), "%.6f s from %.6f s on", (double)(to_ns - from_ns) * 1e-9,
		 (double)(from_ns - slice->first_ns) * 1e-9);
	const struct database_value value = database_bytes(text, strlen(text));
	int error = statement_create(database,
				     "INSERT OR REPLACE INTO meta VALUES ('" STORE_TIMELINE_SLICE
				     "', CAST(?1 AS TEXT))",
				     &statement);
	if (!error)
		error = statement_run(statement, &value, 1);
	statement_destroy(statement);
	return error;
}

/* The part lacks what its timeline lacks. */
static int note_losses(struct database *database, const struct event_sums *log)
{
	static const struct store_note note = {
		.kind = STORE_NOTE_DAMAGED, .key = "timeline", .text = "the timeline"};

	return log->damaged || log->lost_events || log->compressed
		       ? store_note_write(database, &note)
		       : 0;
}

/* ---- what is in it */

static int commit(struct database *database, const struct collection *collection)
{
	struct store_writer *writer;
	int error = store_writer_create(database, false, &writer);

	if (!error)
		error = store_writer_commit(writer, collection, false);
	if (!error)
		error = store_writer_end(writer);
	store_writer_destroy(writer);
	return error;
}

static int fill(struct database *database, const struct profile_slice *slice,
		const struct timeline_events *events, struct profile_slice_counts *counts)
{
	struct slice_fold fold = {.from_ns = slice->request->from_ns,
				  .to_ns = slice->request->to_ns,
				  .by_launch = slice->by_launch};
	struct collection *collection = collection_create();
	int error = collection ? database_execute(database, strip) : -ENOMEM;

	if (!error)
		error = store_timeline_forget(database);
	if (!error)
		error = set_words(database, slice, events);
	if (!error)
		error = note_losses(database, &events->counts.log);
	if (!error)
		error = store_loader_load(database, collection);
	if (!error)
		error = slice_fold_add(&fold, collection, events);
	if (!error)
		error = commit(database, collection);
	counts->nr_work = fold.nr_work;
	counts->nr_launchless = fold.nr_launchless;
	collection_destroy(collection);
	return error;
}

static int read_events(const struct profile_slice *slice, struct timeline_events *events)
{
	struct timeline_request request = *slice->request;

	if (slice->by_launch && request.to_ns < UINT64_MAX - PROFILE_SLICE_REACH_NS)
		request.to_ns += PROFILE_SLICE_REACH_NS;
	if (!slice->by_launch)
		request.from_ns -= request.from_ns < PROFILE_SLICE_REACH_NS
					   ? request.from_ns
					   : PROFILE_SLICE_REACH_NS;
	return timeline_events_read(slice->source, &request, false, events);
}

/* Writes the part with free pages at path, and without them at output_path. */
static int write_part(const struct profile_slice *slice, const char *path, const char *output_path,
		      const struct timeline_events *events, struct profile_slice_counts *counts,
		      char **error)
{
	struct database *database;
	int status = copy(slice->store_path, path, error);

	if (!status)
		status = database_open(path, false, &database, error);
	if (status)
		return status;
	status = fill(database, slice, events, counts);
	if (!status && counts->nr_work == 0)
		status = error_text_set(error, -ENODATA,
					"no GPU work of these ranks is in this time");
	else if (!status)
		status = database_copy(database, output_path, UINT64_MAX);
	if (status && !*error)
		status = explain(database, output_path, status, error);
	database_close(database);
	return status;
}

int profile_slice_write(const struct profile_slice *slice, const char *output_path,
			struct profile_slice_counts *counts, char **error)
{
	struct timeline_events events = {0};
	char path[PATH_MAX];

	*error = NULL;
	*counts = (struct profile_slice_counts){0};
	if (snprintf(path, sizeof(path), "%s" NEW_SUFFIX, output_path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (access(path, F_OK) == 0 || access(output_path, F_OK) == 0)
		return error_text_set(error, -EEXIST, "%s: exists", output_path);
	int status = read_events(slice, &events);
	if (!status) {
		counts->read = events.counts;
		status = write_part(slice, path, output_path, &events, counts, error);
		unlink(path);
		if (status)
			unlink(output_path);
	}
	timeline_events_fini(&events);
	return status;
}
