/* The profile on disk: one SQLite file with all that the aggregator knows (docs/store.md). It has everything that was
 * acknowledged, and everything that is needed to go on after kill -9 or a loss of power. One store is used by one
 * thread, and one process at a time writes it. */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store_timeline.h"

#include "aggregator/profile/collection.h"

struct store;
struct store_waits;
struct store_waits;

#define STORE_MIB_MAX (16u << 20) /* the most that SQLite's pages of 4 KiB can have */

struct store_options {
	const char *title; /* the new title; NULL: keep the old one. Borrowed for the call */
	int32_t nr_nodes;  /* as of store_life_opened() */
	/* Totals stay in blocks (store_totals.h), which are merged ten times as fast as rows, and which SQL does not
	 * find: for a store that becomes a part of another. */
	bool totals_as_blocks;
	/* Of the file and its log, within a tenth, unless one commit alone changes more than a fifth of it, or a reader
	 * holds the log up. 0: no limit. Beyond it commits fail as on a full disk. */
	uint64_t bytes_max;
	bool compact; /* store_close() frees what is not needed any more, and may take STORE_COMPACT_MS for it */
	/* Whether several hosts share the folder's file system: SQLite's shared memory does not work there. NULL:
	 * base/shared_disk.h decides. */
	bool (*is_shared)(const char *folder);
};

/* Opens or creates (mode 0600) the store. options may be NULL. 0; -EPROTO: not a store, damaged, or
 * of a newer schema: nothing was changed; -EBUSY: another process writes it; -EACCES, -ENOSPC,
 * -EIO, -ENOMEM, … On error *store is NULL and *error, if error is not NULL, one line with the path
 * (owns: free()). */
int store_open(const char *path, const struct store_options *options, struct store **store,
	       char **error);

/* Closes the store. The file is then complete by itself; companion files stay only while another process reads. Accepts
 * NULL. */
void store_close(struct store *store);

/* Closes the files of a store that is not written for a while, so that it needs no descriptor. The next commit opens
 * them again; if that fails, the commit fails. While a store rests, nothing keeps another writer out, and readers look
 * for the mark of store_life_keep(). The caller must provide for both. */
void store_rest(struct store *store);
bool store_rests(const struct store *store);

/* The id of the store's timeline (store_timeline.h), made if there is none. 0 or an error of store_commit(). */
int store_timeline_id(struct store *store, uint8_t id[static STORE_TIMELINE_ID]);

/* Reads everything into a fresh collection. The messages that a killed writer left are applied, and committed. 0;
 * -EPROTO: damaged; -EIO; -ENOMEM; or an error of the commit. store_error() describes the error. */
int store_load(struct store *store, struct collection *collection);

/* Syncs the file of a store that was made, unless it is done; the first commit does so, too. 0 or -errno. */
int store_sync(struct store *store);

/* Writes all changes since the last commit in one transaction, with the received_seq of every session as its
 * durable_seq. On success the collection is marked as saved. 0; -ENOSPC, -EIO, …: nothing was written, and the caller
 * may try again; -ESTALE: store_has_moved(), so nothing may be acknowledged. */
int store_commit(struct store *store, struct collection *collection);

/* Writes the collection's logged messages in place of their effects, which the next store_commit() writes. With them
 * the store has everything that was received, but readers see the state of the last store_commit(). On success the
 * collection is marked as logged. Returns as store_commit(). */
int store_commit_messages(struct store *store, struct collection *collection);

/* Undoes what a killed writer has not finished, and applies the messages that it has left in the store at this path, so
 * that readers see their effects. Call it before the path is opened for reading. It changes nothing where there is
 * neither, where a process writes the store, or where this process may not. A process that opens the store, or recovers
 * it, at the same moment waits until this is done. 0; -ENOMEM: nothing has changed. */
int store_recover(const char *path);

/* Moves SQLite's log, which a reader may have kept beside a closed store, into its file. No process may write the
 * store. 0, also without a log; -EBUSY: somebody reads; other errors as store_open(). */
int store_absorb_log(const char *path);

/* Says at the end how many nodes took part at least. 0 or an error of store_commit(). */
int store_expect(struct store *store, uint32_t nr_nodes);

/* Says at the end how many launches and GPU records found no room, at least; reports are INCOMPLETE and say so. 0 or an
 * error of store_commit(). */
int store_note_full(struct store *store, uint64_t launches, uint64_t records);

/* Whether the store was deleted, moved or replaced while it was open. Everything that is written afterwards is lost
 * when it is closed. */
bool store_has_moved(const struct store *store);

/* Describes the last error of load or commit. Borrowed until the next call. */
const char *store_error(const struct store *store);

/* Reads the waits if calls were folded since the last call, or none were read; a store that rests has none to tell. 0
 * or an error of store_waits_read(). */
int store_read_waits(struct store *store, struct store_waits *waits);

/* For other reads between commits. NULL: a store that rests. Borrowed until the next call. */
struct database *store_database(struct store *store);

/* Whether the store has bytes_max. */
bool store_is_bounded(const struct store *store);

/* Whether no other process can read while the store is open. */
bool store_is_exclusive(const struct store *store);

#endif
