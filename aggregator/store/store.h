/* The profile on disk: one SQLite file that holds all that the aggregator knows (docs/store.md).
 * What was acknowledged is in it, together with everything that is needed to go on after kill -9 or
 * a loss of power. One store is used by one thread, and one process at a time writes it. */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collection.h"

struct store;

struct store_options {
	const char *title; /* of a new store, or replaces the old one; NULL: leave it. Borrowed for
			      the call */
	int32_t nr_nodes;  /* that will take part; 0 or less: not known, and what is stored stays */
	/* Whether the folder's file system is shared by several hosts, where SQLite's shared memory
	 * does not work. NULL: ask statfs() for those we know (NFS, Lustre, GPFS, CephFS, BeeGFS,
	 * SMB, …). */
	bool (*is_shared)(const char *folder);
};

/* Opens or creates (mode 0600) the store. options may be NULL. 0; -EPROTO: not a store, damaged, or
 * of a newer schema: nothing was changed; -EBUSY: another process writes it; -EACCES, -ENOSPC,
 * -EIO, -ENOMEM, … On error *store is NULL and *error, if error is not NULL, one line with the path
 * (owns: free()). */
int store_open(const char *path, const struct store_options *options, struct store **store,
	       char **error);

/* Makes the file complete in itself: no companion files are left unless somebody still reads.
 * Accepts NULL. */
void store_close(struct store *store);

/* Closes the files of a store that is not written for a while, so that it needs no descriptor. The next commit
 * opens them again; where that fails, it fails like any other. While a store rests, nothing keeps another writer
 * out of it, and readers look for store_life_keep()'s mark: whoever lets it rest has to see to both. */
void store_rest(struct store *store);
bool store_rests(const struct store *store);

/* Reads everything into a fresh collection; says so on error. 0; -EPROTO: damaged; -EIO; -ENOMEM.
 */
int store_load(struct store *store, struct collection *collection);

/* Writes what changed since the last commit, and every session's received_seq as durable, in one
 * transaction. On success the collection is marked as saved. 0; -ENOSPC, -EIO, …: nothing of it was
 * written; try again; -ESTALE: as store_has_moved(), nothing may be acknowledged. */
int store_commit(struct store *store, struct collection *collection);

/* Whether the store was deleted, moved or replaced while it was open. What is written from then on is gone when it
 * is closed. */
bool store_has_moved(const struct store *store);

/* About the last error of load and commit. Borrowed until the next call. */
const char *store_error(const struct store *store);

/* No other process can read while the store is open. */
bool store_is_exclusive(const struct store *store);

#endif
