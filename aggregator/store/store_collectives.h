/* The store's tables of calls of collective libraries; part of the store. Single-threaded. */
#ifndef STORE_COLLECTIVES_H
#define STORE_COLLECTIVES_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_log.h"

struct store_collectives;

/* Opens for writing, and borrows the database until destroy. 0, or an error of database.h with *collectives NULL. */
int store_collectives_create(struct database *database, struct store_collectives **collectives);
void store_collectives_destroy(struct store_collectives *collectives); /* accepts NULL */

/* Writes the additions, within the open transaction. */
int store_collectives_write(struct store_collectives *collectives,
			    const struct collective_log *log);

/* Loads the part of these tables that a continued profile needs. Processes must be loaded before. Errors as
 * store_loader_load(). */
int store_collectives_load(struct database *database, struct collection *collection);

/* For reports: reads both tables into an empty log. 0, -EPROTO, -EIO, -ENOMEM. */
int store_collectives_read(struct database *database, struct collective_log *log);

#endif
