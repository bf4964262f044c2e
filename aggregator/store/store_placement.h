/* The store's tables of where devices are and threads run (placement_log.h); part of the store. Single-threaded. */
#ifndef STORE_PLACEMENT_H
#define STORE_PLACEMENT_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/placement_log.h"

struct store_placement;

/* For writing. The database is borrowed until destroy. 0, or an error of database.h with *placement NULL. */
int store_placement_create(struct database *database, struct store_placement **placement);
void store_placement_destroy(struct store_placement *placement); /* accepts NULL */

/* Writes what was added, within the transaction that is open. */
int store_placement_write(struct store_placement *placement, const struct placement_log *log);

/* For reports: both tables into the collection's log, by their keys. Devices, processes and strings are there. 0;
 * -EPROTO: what there cannot be; or an error of database.h. */
int store_placement_read(struct database *database, struct collection *collection);

#endif
