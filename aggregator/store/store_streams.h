/* The store's tables of what processes' streams are, and of contexts that are parts of others; part of the store.
 * Single-threaded. */
#ifndef STORE_STREAMS_H
#define STORE_STREAMS_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"

struct store_streams;

/* For writing. The database is borrowed until destroy. 0, or an error of database.h with *streams NULL. */
int store_streams_create(struct database *database, struct store_streams **streams);
void store_streams_destroy(struct store_streams *streams); /* accepts NULL */

/* Writes what changed of process id, within the transaction that is open. */
int store_streams_write(struct store_streams *streams, uint32_t id,
			const struct roster_process *process);

/* Both tables into the collection's processes, which are there, as strings are. 0; -EPROTO: what there cannot be; or an
 * error of database.h. */
int store_streams_load(struct database *database, struct collection *collection);

#endif
