/* The store's schema, version by version (docs/store.md). */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stddef.h>

#include "database.h"

#define STORE_APPLICATION_ID 0x464c4752 /* "FLGR", in the file's header */
#define STORE_SCHEMA_VERSION 18
#define STORE_SCHEMA_OLDEST  8 /* that can be read */

#define STORE_WRITER_SIZE    16u /* random bytes that identify a writer */
#define STORE_PENDING_MEMORY 2   /* pending.kind of memory_slots.h, beside correlator.h's kinds */

enum store_epoch_state {
	STORE_EPOCH_OPEN = 0,
	STORE_EPOCH_ENDED = 1,      /* the agent said goodbye */
	STORE_EPOCH_SUPERSEDED = 2, /* no goodbye: a successor has asked for its last message */
};

/* Check that path is a whole store: one that an aggregator can go on with, or one that can be read. The second shows
 * the tables of the six versions before as those of this one, by views of this connection alone. 0; -ENOENT: no file,
 * or an empty one; -EPROTO, -EBUSY, -EIO, …. On error *error, if error is not NULL, is one line, which the caller owns
 * (free()). */
int store_schema_check(struct database *database, const char *path, char **error);
int store_schema_read(struct database *database, const char *path, char **error);

/* As store_schema_read(), for readers of no sums: pages that have blocks of them are not looked at, which are most. */
int store_schema_read_names(struct database *database, const char *path, char **error);

/* Shows the tables of an older version as this one has them, in a store that was checked. 0, -EPROTO, -EIO, -ENOMEM. */
int store_schema_show(struct database *database);

/* Makes the tables in an empty database: all of them or none. */
int store_schema_create(struct database *database);

/* Writes the SELECT of all rows of a table, as they are for a copy with which nobody goes on: its timelines are closed
 * (stream_timeline_close()), so that their open intervals, most of a busy profile's bytes, have no rows. order: the
 * columns behind ORDER BY; NULL: any order. 0 or -ENAMETOOLONG. */
int store_schema_select_final(const char *table, const char *order, char *sql, size_t size);

#endif
