/* The store's schema, version by version (docs/store.md). */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "database.h"

#define STORE_APPLICATION_ID 0x464c4752 /* "FLGR", in the file's header */
#define STORE_SCHEMA_VERSION 6

#define STORE_PENDING_MEMORY 2 /* pending.kind beside enum correlator_block_kind: memory_slots.h */

enum store_epoch_state {
	STORE_EPOCH_OPEN = 0,
	STORE_EPOCH_ENDED = 1,      /* said goodbye */
	STORE_EPOCH_SUPERSEDED = 2, /* without one: a successor has asked how far it came */
};

/* Whether path is one of ours, of a version that we know, and whole. An empty file is -ENOENT, as
 * is none. 0; -EPROTO, -EBUSY, -EIO, …; *error, if error is not NULL, is then one line (owns:
 * free()). */
int store_schema_check(struct database *database, const char *path, char **error);

/* Makes the tables in an empty database, all or nothing. */
int store_schema_create(struct database *database);

#endif
