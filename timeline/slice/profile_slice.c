#include "profile_slice.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew_fold.h"
#include "slice_fold.h"
#include "uncaptured.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_schema.h"
#include "aggregator/store/store_timeline.h"
#include "aggregator/store/store_writer.h"
#include "base/error_text.h"
#include "base/thread_crew.h"
#include "timeline/trace/events_crew.h"

#define NEW_SUFFIX ".new"
#define WORDS_SIZE 384u

#define COLUMNS_MAX 32u

/* Tables that name things, which a part has as they are. All others begin empty. */
static const char *const tables[] = {
	"meta",     "strings",         "modules",       "codes",           "frames",
	"nodes",    "hosts",           "devices",       "processes",       "process_devices",
	"writers",  "process_notices", "epochs",        "device_limits",   "streams",
	"contexts", "host_clocks",     "clock_offsets", "device_topology", "device_links",
};

/* The new writers' ids keep a merge from taking the part for the whole. */
static const char begin_anew[] =
	"UPDATE processes SET state = 1, launches = 0, failed = 0, expired = 0, records = 0,"
	" matched = 0, unmatched = 0, invalid = 0;"
	"UPDATE epochs SET state = 1;"
	"UPDATE writers SET writer = randomblob(16), closed = 1;";

static int explain(struct database *database, const char *path, int status, char **error)
{
	return error_text_set(error, status, "%s: %s", path, database_error_of(database, status));
}

/* ---- the copy */

/* A profile is its owner's. */
static int make(const char *path, char **error)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

struct copied_table {
	struct statement *insert;
	uint32_t nr_columns;
};

static int copy_row(struct statement *row, void *context)
{
	const struct copied_table *table = context;
	struct database_value values[COLUMNS_MAX];

	for (uint32_t i = 0; i < table->nr_columns; i++)
		values[i] = statement_value(row, i);
	return statement_run(table->insert, values, table->nr_columns);
}

static int copy_table(struct database *whole, struct database *part, const char *name)
{
	struct copied_table table = {0};
	char sql[192];
	int64_t nr_columns;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s')", name);
	int error = database_query_number(part, sql, &nr_columns);
	if (error)
		return error;
	if (nr_columns < 1 || nr_columns > COLUMNS_MAX)
		return -EPROTO;
	table.nr_columns = (uint32_t)nr_columns;
	int size = snprintf(sql, sizeof(sql), "REPLACE INTO %s VALUES (?", name);
	for (uint32_t i = 1; i < table.nr_columns; i++)
		size += snprintf(sql + size, sizeof(sql) - (size_t)size, ",?");
	snprintf(sql + size, sizeof(sql) - (size_t)size, ")");
	error = statement_create(part, sql, &table.insert);
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", name);
	if (!error)
		error = database_rows(whole, sql, copy_row, &table);
	statement_destroy(table.insert);
	return error;
}

/* All tables show the same moment. */
static int copy_tables(struct database *whole, struct database *part)
{
	int error = database_execute(whole, "BEGIN");

	if (!error)
		error = store_schema_create(part);
	if (!error)
		error = database_execute(part, "PRAGMA journal_mode = OFF;"
					       "PRAGMA synchronous = OFF; BEGIN");
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !error; i++)
		error = copy_table(whole, part, tables[i]);
	if (!error)
		error = database_execute(part, begin_anew);
	if (!error)
		error = database_execute(part, "COMMIT");
	return error;
}

static int copy(const char *store_path, const char *path, struct database *part, char **error)
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
	if (!status)
		status = copy_tables(whole, part);
	if (status && !*error)
		status = explain(status == -ENOSPC ? part : whole,
				 status == -ENOSPC ? path : store_path, status, error);
	database_close(whole);
	return status;
}

static uint64_t begin_of(const struct profile_slice *slice)
{
	return slice->request->from_ns > slice->first_ns ? slice->request->from_ns
							 : slice->first_ns;
}

/* What is in the part, in one of two ways. */
struct content {
	struct timeline_events events;    /* owns */
	struct uncaptured_work in_pauses; /* of the events */
	struct crew_fold fold;
	bool is_folded;                      /* by fold; there are no events */
	const struct uncaptured *uncaptured; /* borrowed */
};

/* Returns the end of all work; 0: there is none. */
static uint64_t end_of(const struct content *content)
{
	uint64_t end_ns = content->is_folded ? content->fold.last_ns : 0;

	for (uint32_t i = 0; i < content->events.nr_work; i++)
		if (content->events.work[i].end_ns > end_ns)
			end_ns = content->events.work[i].end_ns;
	return end_ns;
}

/* "0.500000 s from 1.000000 s on", and what lacks a launch or a timeline */
static void write_words(const struct profile_slice *slice, const struct content *content,
			const struct profile_slice_counts *counts, char text[static WORDS_SIZE])
{
	const uint64_t from_ns = begin_of(slice);
	uint64_t to_ns = slice->request->to_ns;
	int at;

	if (to_ns == UINT64_MAX)
		to_ns = end_of(content);
	if (to_ns == 0) /* nothing came */
		to_ns = from_ns > slice->last_ns ? from_ns : slice->last_ns;
	at = snprintf(text, WORDS_SIZE, "%.6f s from %.6f s on%s", (double)(to_ns - from_ns) * 1e-9,
		      (double)(from_ns - slice->first_ns) * 1e-9,
		      slice->nr_steps > 1 ? ", of each process its own step" : "");
	if (counts->nr_launchless)
		at += snprintf(text + at, WORDS_SIZE - (size_t)at,
			       "; the launches of %" PRIu64 " pieces of GPU work were not kept%s",
			       counts->nr_launchless,
			       counts->read.log.dropped_events
				       ? ", as --timeline and --max-size asked"
				       : "");
	if (counts->uncaptured_ns)
		at += snprintf(text + at, WORDS_SIZE - (size_t)at,
			       "; times between capture windows are %.6f s of all "
			       "processes together",
			       (double)counts->uncaptured_ns * 1e-9);
	if (counts->nr_silent)
		snprintf(text + at, WORDS_SIZE - (size_t)at, "; %" PRIu32 " process%s no timeline",
			 counts->nr_silent, counts->nr_silent == 1 ? " has" : "es have");
}

static int set_words(struct database *database, const char *text)
{
	const struct database_value value = database_bytes(text, strlen(text));
	struct statement *statement;
	int error = statement_create(database,
				     "INSERT OR REPLACE INTO meta VALUES ('" STORE_TIMELINE_SLICE
				     "', CAST(?1 AS TEXT))",
				     &statement);
	if (!error)
		error = statement_run(statement, &value, 1);
	statement_destroy(statement);
	return error;
}

static int note_whole(struct database *database, const char *lacks)
{
	struct store_note note = {.kind = STORE_NOTE_DAMAGED, .key = STORE_TIMELINE_WHOLE};

	snprintf(note.text, sizeof(note.text), "%s", lacks);
	return store_note_write(database, &note);
}

/* The part lacks what its timeline lacks. */
static int note_losses(struct database *database, const struct profile_slice *slice,
		       const struct profile_slice_counts *counts)
{
	static const struct store_note note = {
		.kind = STORE_NOTE_DAMAGED, .key = "timeline", .text = "the timeline"};
	const struct event_sums *log = &counts->read.log;
	const int error = slice->lacks ? note_whole(database, slice->lacks) : 0;

	if (error)
		return error;
	return log->damaged || log->lost_events || log->compressed || counts->read.unclocked ||
			       counts->nr_silent
		       ? store_note_write(database, &note)
		       : 0;
}

/* ---- what is in it */

/* The part's GPUs and processes were watched for all of its time, or for their own steps. */
static bool is_of_whole(enum timeline_level level)
{
	return level == TIMELINE_DEVICE || level == TIMELINE_ORDINAL || level == TIMELINE_WORK;
}

static uint64_t last_of(const struct profile_slice *slice)
{
	return slice->request->to_ns < slice->last_ns ? slice->request->to_ns : slice->last_ns;
}

/* Between capture windows only work is known, and no idle time. */
static void leave_out_pauses(const struct content *content, const struct timeline_entry *entry)
{
	const struct timeline_key *key = &entry->key;
	const uint64_t idle_ns = stream_timeline_idle_ns(entry->timeline);
	struct timeline_sums sums;

	stream_timeline_sums(entry->timeline, &sums);
	const uint64_t pauses_ns =
		uncaptured_pauses_ns(content->uncaptured, key, sums.first_ns, sums.last_ns);
	const uint64_t busy_ns = content->is_folded
					 ? crew_fold_pauses_busy_ns(&content->fold, key)
					 : uncaptured_work_busy_ns(&content->in_pauses, key);
	const uint64_t ns = pauses_ns > busy_ns ? pauses_ns - busy_ns : 0;

	/* Streams above the roster's limit have one timeline, of which the work within pauses is not known. */
	stream_timeline_uncaptured(entry->timeline, ns < idle_ns ? ns : idle_ns);
}

/* Of a step, the times of other processes are nobody's idle time. */
static void set_span(const struct profile_slice *slice, const struct content *content,
		     const struct timeline_entry *entry)
{
	uint64_t from_ns = begin_of(slice), to_ns = last_of(slice);
	const bool has = !slice->nr_steps ||
			 uncaptured_step_of(content->uncaptured, &entry->key, &from_ns, &to_ns);

	if (has && from_ns < to_ns)
		stream_timeline_span(entry->timeline, from_ns, to_ns);
}

/* Nobody goes on with a part, so no open interval is stored. */
static void close_timelines(const struct profile_slice *slice, const struct content *content,
			    const struct collection *collection)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(collection->timelines, &nr_entries);

	for (uint32_t i = 0; i < nr_entries; i++) {
		if (is_of_whole(entries[i].key.level))
			set_span(slice, content, &entries[i]);
		leave_out_pauses(content, &entries[i]);
		stream_timeline_close(entries[i].timeline);
	}
}

static int commit(struct database *database, const struct collection *collection, bool is_read_once)
{
	struct store_writer *writer;
	int error = store_writer_create(database, false, &writer);

	if (!error)
		error = store_writer_commit(writer, collection, false);
	if (!error && !is_read_once)
		error = store_writer_end(writer);
	store_writer_destroy(writer);
	return error;
}

/* Puts the sums into the collection. */
static int add_sums(const struct profile_slice *slice, struct collection *collection,
		    struct content *content, struct profile_slice_counts *counts)
{
	struct slice_fold fold = {.from_ns = slice->request->from_ns,
				  .to_ns = slice->request->to_ns,
				  .steps = slice->steps,
				  .nr_steps = slice->nr_steps,
				  .in_pauses = &content->in_pauses};

	if (content->is_folded) {
		counts->nr_work = content->fold.nr_work;
		counts->nr_waits = content->fold.nr_waits;
		counts->nr_launchless = content->fold.nr_launchless;
		return crew_fold_put(&content->fold, collection);
	}
	const int error = slice_fold_add(&fold, collection, &content->events);
	counts->nr_work = fold.nr_work;
	counts->nr_waits = fold.nr_waits;
	counts->nr_launchless = fold.nr_launchless;
	return error;
}

static int fill(struct database *database, const struct profile_slice *slice,
		struct content *content, struct profile_slice_counts *counts)
{
	struct collection *collection = collection_create();
	char words[WORDS_SIZE];
	int error = collection ? 0 : -ENOMEM;

	if (!error)
		error = store_timeline_forget(database);
	if (!error)
		error = store_loader_load(database, collection);
	if (!error)
		error = add_sums(slice, collection, content, counts);
	write_words(slice, content, counts, words);
	if (!error)
		error = set_words(database, words);
	if (!error)
		error = note_losses(database, slice, counts);
	if (!error) {
		close_timelines(slice, content, collection);
		error = commit(database, collection, slice->is_read_once);
	}
	collection_destroy(collection);
	return error;
}

/* Whether GPU work of the time has no launch here. Waits may have none. */
static bool lacks_launches(const struct profile_slice *slice, const struct timeline_events *events)
{
	for (uint32_t i = 0; i < events->nr_work; i++) {
		const struct timeline_work *work = &events->work[i];

		if (work->launch == TIMELINE_SOURCE_NONE && work->kind != RECORD_GPU_SYNC &&
		    work->start_ns >= slice->request->from_ns &&
		    work->start_ns < slice->request->to_ns)
			return true;
	}
	return false;
}

/* Whether a launch of the time has no GPU work here. 1; 0; -ENOMEM. */
static int lacks_work(const struct profile_slice *slice, const struct timeline_events *events)
{
	bool *have_work = calloc(events->nr_launches + 1ull, sizeof(*have_work));
	bool lacks = false;

	if (!have_work)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->nr_work; i++)
		if (events->work[i].launch != TIMELINE_SOURCE_NONE)
			have_work[events->work[i].launch] = true;
	for (uint32_t i = 0; i < events->nr_launches && !lacks; i++)
		lacks = !have_work[i] && !(events->launches[i].flags & RECORD_LAUNCH_HOST) &&
			events->launches[i].time_ns < slice->request->to_ns;
	free(have_work);
	return lacks;
}

/* Reads further and further, as long as something is missing and there is more. */
static int read_events(const struct profile_slice *slice, struct timeline_events *events)
{
	struct timeline_request request = *slice->request;
	uint64_t reach_ns = TIMELINE_EVENTS_REACH_NS;

	for (;; reach_ns *= TIMELINE_EVENTS_REACH_FACTOR) {
		if (slice->nr_steps)
			request.to_ns = slice->request->to_ns < UINT64_MAX - reach_ns
						? slice->request->to_ns + reach_ns
						: UINT64_MAX;
		else
			request.from_ns = slice->request->from_ns > reach_ns
						  ? slice->request->from_ns - reach_ns
						  : 0;
		int error = events_crew_read(slice->source, &request, events);
		const bool is_all = slice->nr_steps ? request.to_ns > slice->last_ns
						    : request.from_ns <= slice->first_ns;

		if (error || is_all)
			return error;
		int lacks =
			slice->nr_steps ? lacks_work(slice, events) : lacks_launches(slice, events);
		if (lacks <= 0)
			return lacks;
		timeline_events_fini(events);
	}
}

/* Writes the part at path, and then names it output_path. */
static int write_part(const struct profile_slice *slice, const char *path, const char *output_path,
		      struct content *content, struct profile_slice_counts *counts, char **error)
{
	struct database *database;
	int status = make(path, error);

	if (!status)
		status = database_open(path, false, &database, error);
	if (status)
		return status;
	status = copy(slice->store_path, path, database, error);
	if (!status)
		status = fill(database, slice, content, counts);
	if (!status && counts->nr_work + counts->nr_waits == 0 && !slice->may_be_empty)
		status = error_text_set(error, -ENODATA,
					"no GPU work of these ranks is in this time");
	if (status && !*error)
		status = explain(database, path, status, error);
	database_close(database);
	if (!status && rename(path, output_path))
		status = error_text_set(error, -errno, "%s: %s", output_path, strerror(errno));
	return status;
}

/* The part is written while somebody else sees its events. */
struct writing {
	const struct profile_slice *slice;
	const char *path, *output_path;
	struct content *content;
	struct profile_slice_counts *counts;
	char **error;
	int status, see_status;
};

static void write_or_show(void *context, uint32_t part)
{
	struct writing *writing = context;
	const struct profile_slice *slice = writing->slice;

	if (part == 0)
		writing->status = write_part(slice, writing->path, writing->output_path,
					     writing->content, writing->counts, writing->error);
	else if (writing->content->is_folded)
		writing->see_status = slice->see_fold(slice->context, &writing->content->fold);
	else
		writing->see_status = slice->see(slice->context, &writing->content->events);
}

static int write_and_show(struct writing *writing)
{
	thread_crew_run(writing->slice->see ? 2 : 1, write_or_show, writing);
	if (writing->status)
		unlink(writing->path);
	else if (writing->see_status)
		unlink(writing->output_path);
	return writing->status ? writing->status : writing->see_status;
}

/* ---- the content */

/* Whether its events are folded while they are read. 1, 0, or an error of timeline_source_read(). */
static int is_streamed(const struct profile_slice *slice)
{
	uint64_t nr_events;

	if (slice->nr_steps || (slice->see && !slice->see_fold))
		return 0;
	if (!slice->see)
		return 1;
	const int error = timeline_source_estimate(slice->source, slice->request, &nr_events);
	return error ? error : nr_events >= PROFILE_SLICE_STREAMED;
}

static const struct roster *roster_of(const struct profile_slice *slice)
{
	return timeline_source_profile(slice->source)->collection->roster;
}

/* As one fold, or as a list of events. *uncaptured of a step is made of its events. */
static int read_content(const struct profile_slice *slice, struct uncaptured *uncaptured,
			bool folds, struct content *content)
{
	int error = -EAGAIN;

	*content = (struct content){.uncaptured = uncaptured};
	if (folds)
		error = crew_fold_read(&content->fold, slice->source, slice->request, uncaptured,
				       slice->first_ns);
	content->is_folded = error == 0;
	if (error != -EAGAIN)
		return error;
	crew_fold_fini(&content->fold);
	error = read_events(slice, &content->events);
	if (!error && slice->nr_steps)
		error = uncaptured_steps(uncaptured, roster_of(slice), slice->steps,
					 slice->nr_steps, &content->events);
	return error ? error : uncaptured_work_init(&content->in_pauses, uncaptured);
}

static void fini_content(struct content *content)
{
	timeline_events_fini(&content->events);
	uncaptured_work_fini(&content->in_pauses);
	crew_fold_fini(&content->fold);
}

static int write_content(const struct profile_slice *slice, const char *path,
			 const char *output_path, struct uncaptured *uncaptured, bool folds,
			 struct profile_slice_counts *counts, char **error)
{
	struct content content;
	struct writing writing = {slice, path, output_path, &content, counts, error, 0, 0};
	int status = read_content(slice, uncaptured, folds, &content);

	if (!status) {
		counts->read = content.is_folded ? content.fold.counts : content.events.counts;
		counts->nr_silent =
			timeline_source_silent(slice->source, slice->request, &counts->read);
		status = write_and_show(&writing);
	}
	fini_content(&content);
	return status;
}

static int write_slice(const struct profile_slice *slice, const char *path, const char *output_path,
		       struct uncaptured *uncaptured, struct profile_slice_counts *counts,
		       char **error)
{
	const int folds = is_streamed(slice);

	if (folds < 0)
		return folds;
	counts->uncaptured_ns = uncaptured_sum_ns(uncaptured, begin_of(slice), last_of(slice));
	const int status =
		write_content(slice, path, output_path, uncaptured, folds, counts, error);
	return status == -EAGAIN && folds
		       ? write_content(slice, path, output_path, uncaptured, false, counts, error)
		       : status;
}

int profile_slice_write(const struct profile_slice *slice, const char *output_path,
			struct profile_slice_counts *counts, char **error)
{
	char path[PATH_MAX];

	*error = NULL;
	*counts = (struct profile_slice_counts){0};
	if (snprintf(path, sizeof(path), "%s" NEW_SUFFIX, output_path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (access(path, F_OK) == 0 || access(output_path, F_OK) == 0)
		return error_text_set(error, -EEXIST, "%s: exists", output_path);
	struct uncaptured uncaptured = {0};
	int status =
		slice->nr_steps ? 0 : uncaptured_read(&uncaptured, slice->source, slice->request);
	if (!status)
		status = write_slice(slice, path, output_path, &uncaptured, counts, error);
	uncaptured_fini(&uncaptured);
	return status;
}
