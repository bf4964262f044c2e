/* The store's tables of calls of collective libraries; part of the store. Single-threaded. */
#ifndef STORE_COLLECTIVES_H
#define STORE_COLLECTIVES_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_log.h"

struct store_collectives;

/* For writing. The database is borrowed until destroy. 0, or an error of database.h with *collectives NULL. */
int store_collectives_create(struct database *database, struct store_collectives **collectives);
void store_collectives_destroy(struct store_collectives *collectives); /* accepts NULL */

/* Writes what is new, within the transaction that is open. */
int store_collectives_write(struct store_collectives *collectives,
			    const struct collective_log *log);

/* As store_loader_load(): as much of these tables as is needed to go on. Processes are there. */
int store_collectives_load(struct database *database, struct collection *collection);

/* For reports: all of both tables into a log, as if it had just come. 0, -EPROTO, -EIO, -ENOMEM. */
int store_collectives_read(struct database *database, struct collective_log *log);

#endif
