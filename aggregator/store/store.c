#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "store_compact.h"
#include "store_life.h"
#include "store_loader.h"
#include "store_messages.h"
#include "store_schema.h"
#include "store_waits.h"
#include "store_writer.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "base/shared_disk.h"

#define NS_PER_MS        1000000ull
#define RECOVERY_MS      60000u /* longest wait for a reader that applies a killed writer's messages */
#define RECOVERY_LOOK_MS 10

struct store {
	char *path;                /* owns */
	struct database *database; /* NULL: it rests */
	struct store_writer *writer;
	int lock_fd; /* holds the flock() that keeps a second writer out; -1: none */
	bool exclusive, compact, totals_as_blocks;
	uint64_t bytes_max;
	bool recovers;    /* for a reader: it has the lock, but is no writer */
	bool is_unsynced; /* it was made, and a loss of power may leave nothing of it */
	dev_t device;     /* of the file that was opened first */
	ino_t inode;
};

static int fail(char **error, const char *path, const char *what, int status)
{
	return error_text_set(error, status, "%s: %s: %s", path, what, strerror(-status));
}

static bool folder_is_shared(const char *path, const struct store_options *options)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	const char *folder = dirname(copy);
	return options && options->is_shared ? options->is_shared(folder) : shared_disk_has(folder);
}

/* A lock without a writer's mark is that of a reader that recovers the store, which does not last. A store that has
 * rested has nothing to recover, and other stores would wait, too. */
static int wait_for_lock(const struct store *store, const char *path)
{
	const uint64_t wait_ms = store->inode ? 0 : RECOVERY_MS;
	const uint64_t until_ns = clock_now_ns() + wait_ms * NS_PER_MS;

	while (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		const int status = -errno;

		if (status != -EWOULDBLOCK || store_life_is_written(path) ||
		    clock_now_ns() >= until_ns)
			return status;
		poll(NULL, 0, RECOVERY_LOOK_MS);
	}
	return 0;
}

/* The kernel drops this lock when we die, so no stale one is ever in the way. On a shared file
 * system flock() is the same lock as the one that SQLite takes; there SQLite's own exclusive mode
 * does the job. */
static int take_lock(struct store *store, const char *path, char **error)
{
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock_fd < 0)
		return fail(error, path, "cannot open", -errno);
	if (store->exclusive) {
		close(store->lock_fd);
		store->lock_fd = -1;
		return 0;
	}
	int status = wait_for_lock(store, path);
	if (status == -EWOULDBLOCK)
		return error_text_set(error, -EBUSY, "%s: another aggregator writes this profile",
				      path);
	if (status)
		return fail(error, path, "cannot lock", status);
	if (!store->recovers)
		store_life_begin(store->lock_fd);
	return 0;
}

/* synchronous=FULL: what was acknowledged survives a loss of power, too. The price is one fsync a commit. A busy
 * commit changes thousands of pages: each should be read once (cache_size, KiB), and written to the file once for
 * several commits (wal_autocheckpoint, pages). A commit that deletes much makes the log long, once in days: the log is
 * cut again when its pages are in the file (journal_size_limit, bytes). Some distributions build SQLite so that it
 * writes zeros over all that is deleted: each whole commit would read and write the pages of all stored messages once
 * more.
 *
 * A job waits until its store is made. On a slow disk that would take seconds, so a new store is synced later
 * (store_sync()). */
static int configure(struct store *store)
{
	int error =
		database_execute(store->database, store->is_unsynced ? "PRAGMA synchronous = OFF"
								     : "PRAGMA synchronous = FULL");

	if (!error && store->exclusive)
		error = database_execute(store->database, "PRAGMA locking_mode = EXCLUSIVE");
	if (!error)
		error = database_execute(store->database, "PRAGMA journal_mode = WAL;"
							  "PRAGMA cache_size = -32768;"
							  "PRAGMA wal_autocheckpoint = 4096;"
							  "PRAGMA journal_size_limit = 33554432;"
							  "PRAGMA secure_delete = OFF");
	return error;
}

/* The file may have seven eighths of the size. The rest is for the log, which goes into the file after each commit that
 * leaves more than a 32nd in it. */
static int set_size(struct database *database, uint64_t bytes_max)
{
	char sql[160];
	int64_t page;
	int error = database_query_number(database, "PRAGMA page_size", &page);

	if (error)
		return error;
	const unsigned long long log = bytes_max / 32, most = bytes_max - bytes_max / 8;
	snprintf(sql, sizeof(sql),
		 "PRAGMA max_page_count = %llu; PRAGMA wal_autocheckpoint = %llu;"
		 "PRAGMA journal_size_limit = %llu",
		 most / (unsigned long long)page, log / (unsigned long long)page + 1, log);
	return database_execute(database, sql);
}

static int set_title(struct store *store, const char *title)
{
	struct statement *statement;
	struct database_value value = database_bytes(title, strlen(title));
	int error = statement_create(store->database,
				     "INSERT INTO meta VALUES ('title', CAST(?1 AS TEXT))"
				     " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
				     &statement);

	if (!error)
		error = statement_run(statement, &value, 1);
	statement_destroy(statement);
	return error;
}

/* Nothing is written before the check has passed. */
static int prepare(struct store *store, const char *path, const struct store_options *options,
		   char **error)
{
	int status = store_schema_check(store->database, path, error);
	bool is_new = status == -ENOENT;

	if (status && !is_new)
		return status;
	store->is_unsynced = is_new && store->lock_fd >= 0;
	status = configure(store);
	if (!status && is_new)
		status = store_schema_create(store->database);
	if (!status && store->bytes_max)
		status = set_size(store->database, store->bytes_max);
	if (!status && options && options->title)
		status = set_title(store, options->title);
	if (!status)
		status = store_life_opened(store->database, options ? options->nr_nodes : 0);
	if (!status && !store->recovers)
		status = store_life_full(store->database, 0, 0, 0);
	if (!status && is_new)
		status = database_execute(store->database, "PRAGMA synchronous = FULL");
	if (!status)
		status = store_writer_create(store->database, store->totals_as_blocks,
					     &store->writer);
	return status ? error_text_set(error, status, "%s: %s", path,
				       database_error_of(store->database, status))
		      : 0;
}

/* Moves the log into the file and deletes it. It is refused while somebody reads, which costs nothing but two companion
 * files. Once the file has all and is synced, SQLite would sync five times more for a change of the file's head. */
static void end_log(struct store *store)
{
	int64_t is_busy = 1;

	database_wait(store->database, false);
	int error =
		database_query_number(store->database, "PRAGMA wal_checkpoint(TRUNCATE)", &is_busy);
	database_wait(store->database, true);
	const bool is_synced = !error && !is_busy && store->lock_fd >= 0 &&
			       !database_execute(store->database, "PRAGMA synchronous = OFF");

	database_execute(store->database, "PRAGMA journal_mode = DELETE");
	if (is_synced)
		fsync(store->lock_fd); /* without it the log may be back, and has what the file has */
}

/* What is open of it. Without a writer the store was never accepted: it is left as it is. */
static void close_files(struct store *store, bool compact)
{
	bool accepted = store->writer;
	int compacted = -EAGAIN;

	store_writer_destroy(store->writer);
	if (accepted)
		end_log(store);
	if (accepted && compact)
		compacted = store_compact_write(store->database, store->path,
						clock_now_ns() + STORE_COMPACT_MS * NS_PER_MS);
	database_close(store->database);
	/* While the lock keeps other writers out. */
	if (!compacted)
		store_compact_take(store->path);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	store->writer = NULL;
	store->database = NULL;
	store->lock_fd = -1;
}

static bool has_companion(const char *path, const char *suffix)
{
	char companion[PATH_MAX];
	struct stat info;

	return snprintf(companion, sizeof(companion), "%s%s", path, suffix) <
		       (int)sizeof(companion) &&
	       stat(companion, &info) == 0 && info.st_size > 0;
}

static bool has_log(const char *path)
{
	return has_companion(path, "-wal");
}

int store_timeline_id(struct store *store, uint8_t id[static STORE_TIMELINE_ID])
{
	return store_timeline_make(store->database, id);
}

int store_absorb_log(const char *path)
{
	struct database *database;
	int status = has_log(path) ? database_open(path, false, &database, NULL) : -ENOENT;

	if (status)
		return status == -ENOENT ? 0 : status;
	status = database_execute(database, "PRAGMA journal_mode = DELETE");
	database_close(database);
	return status == 0 && has_log(path) ? -EBUSY : status;
}

static int open_files(struct store *store, const struct store_options *options, char **error)
{
	int status = take_lock(store, store->path, error);

	if (!status)
		status = database_open(store->path, false, &store->database, error);
	if (!status)
		status = prepare(store, store->path, options, error);
	return status;
}

static int remember_file(struct store *store)
{
	struct stat info;

	if (stat(store->path, &info) < 0)
		return -errno;
	store->device = info.st_dev;
	store->inode = info.st_ino;
	return 0;
}

static int open_store(const char *path, const struct store_options *options, bool recovers,
		      struct store **store, char **error)
{
	*store = calloc(1, sizeof(**store));
	if (!*store)
		return -ENOMEM;

	(*store)->lock_fd = -1;
	(*store)->recovers = recovers;
	(*store)->exclusive = folder_is_shared(path, options);
	(*store)->compact = options && options->compact;
	(*store)->bytes_max = options ? options->bytes_max : 0;
	(*store)->totals_as_blocks = options && options->totals_as_blocks;
	(*store)->path = strdup(path);
	int status = (*store)->path ? open_files(*store, options, error) : -ENOMEM;
	if (!status)
		status = remember_file(*store);
	if (status) {
		store_close(*store);
		*store = NULL;
	}
	return status;
}

int store_open(const char *path, const struct store_options *options, struct store **store,
	       char **error)
{
	if (error)
		*error = NULL;
	return open_store(path, options, false, store, error);
}

void store_rest(struct store *store)
{
	store_life_left(store->database, STORE_LIFE_RESTS);
	close_files(store, false);
}

bool store_rests(const struct store *store)
{
	return !store->database;
}

static int wake(struct store *store)
{
	int status = store_has_moved(store) ? -ESTALE : open_files(store, NULL, NULL);

	if (status)
		close_files(store, false);
	return status;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (store_rests(store))
		wake(store);
	if (store->writer) {
		store_writer_end(store->writer);
		store_life_left(store->database, STORE_LIFE_CLOSED);
	}
	close_files(store, store->compact && !store->exclusive);
	free(store->path);
	free(store);
}

int store_load(struct store *store, struct collection *collection)
{
	bool has_messages = false;
	int error = database_execute(store->database, "BEGIN");

	if (error)
		return error;
	error = store_loader_load(store->database, collection);
	if (!error)
		error = store_messages_load(store->database, collection, &has_messages);
	int end_error = database_execute(store->database, "COMMIT");
	if (error || end_error)
		return error ? error : end_error;
	return has_messages ? store_commit(store, collection) : 0;
}

/* SQLite syncs the folder with the first sync of the log. */
int store_sync(struct store *store)
{
	if (store->is_unsynced && fsync(store->lock_fd) < 0)
		return -errno;
	store->is_unsynced = false;
	return 0;
}

static int commit(struct store *store, const struct collection *collection, bool messages_alone)
{
	int error = store_rests(store) ? wake(store) : 0;

	if (!error)
		error = store_sync(store);
	if (!error)
		error = store_writer_commit(store->writer, collection, messages_alone);
	return !error && store_has_moved(store) ? -ESTALE : error;
}

int store_commit(struct store *store, struct collection *collection)
{
	int error = commit(store, collection, false);

	if (!error)
		collection_saved(collection);
	return error;
}

int store_commit_messages(struct store *store, struct collection *collection)
{
	int error = commit(store, collection, true);

	if (!error)
		collection_logged(collection);
	return error;
}

/* Returns 1: there are messages that a killed writer has left, and *life is how it left the store; 0; -ENOMEM. An older
 * schema has no messages. A store that rests has none either, or its writer lives. */
static int has_left_messages(const char *path, enum store_life *life)
{
	struct database *database;
	int64_t count = 0;
	int32_t nr_nodes;

	if (store_life_is_written(path))
		return 0;
	int error = database_open(path, true, &database, NULL);
	if (error)
		return error == -ENOMEM ? error : 0;
	error = database_query_number(database, "SELECT count(*) FROM messages", &count);
	if (!error)
		error = store_life_read(database, life, &nr_nodes);
	database_close(database);
	return error == -ENOMEM ? error : !error && count && *life != STORE_LIFE_RESTS;
}

/* A writer that is killed while it closes the store leaves a journal, which a reader without the right to write cannot
 * undo: so it could read nothing. */
static void undo_journal(const char *path)
{
	struct database *database;
	int64_t count;

	if (!has_companion(path, "-journal") || access(path, R_OK | W_OK) ||
	    store_life_is_written(path) || database_open(path, false, &database, NULL))
		return;
	database_query_number(database, "SELECT count(*) FROM sqlite_master", &count);
	database_close(database);
}

int store_recover(const char *path)
{
	struct collection *collection;
	struct store *store;
	enum store_life life;

	undo_journal(path);
	int error = has_left_messages(path, &life);

	if (error <= 0)
		return error;
	error = open_store(path, NULL, true, &store, NULL);
	if (error)
		return error == -ENOMEM ? error : 0;
	collection = collection_create();
	error = collection ? store_load(store, collection) : -ENOMEM;
	if (!error)
		store_life_left(store->database, life);
	collection_destroy(collection);
	close_files(store, false);
	free(store->path);
	free(store);
	return error == -ENOMEM ? error : 0;
}

int store_expect(struct store *store, uint32_t nr_nodes)
{
	int error = store_rests(store) ? wake(store) : 0;

	return error ? error : store_life_expect(store->database, nr_nodes);
}

bool store_has_moved(const struct store *store)
{
	struct stat info;

	if (store->database)
		return database_has_moved(store->database);
	return stat(store->path, &info) < 0 || info.st_dev != store->device ||
	       info.st_ino != store->inode;
}

const char *store_error(const struct store *store)
{
	return store->database ? database_error(store->database) : "the store cannot be opened";
}

int store_read_waits(struct store *store, struct store_waits *waits)
{
	if (!store->database || (!store_writer_take_folded(store->writer) && waits->are_read))
		return 0;
	return store_waits_read(store->database, waits);
}

struct database *store_database(struct store *store)
{
	return store->database;
}

int store_note_full(struct store *store, uint64_t launches, uint64_t records)
{
	int error = store_rests(store) ? wake(store) : 0;

	return error ? error
		     : store_life_full(store->database, launches, records, store->bytes_max);
}

bool store_is_bounded(const struct store *store)
{
	return store->bytes_max != 0;
}

bool store_is_exclusive(const struct store *store)
{
	return store->exclusive;
}
