/* The store's table of clock offsets (clock_log.h); part of the store. Single-threaded. */
#ifndef STORE_CLOCKS_H
#define STORE_CLOCKS_H

#include "database.h"

#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"

struct store_clocks;

/* Opens for writing, and borrows the database until destroy. 0, or an error of database.h with *clocks NULL. */
int store_clocks_create(struct database *database, struct store_clocks **clocks);
void store_clocks_destroy(struct store_clocks *clocks); /* accepts NULL */

/* Writes the additions, within the open transaction. */
int store_clocks_write(struct store_clocks *clocks, const struct clock_log *log);

/* For reports: reads the whole table into the collection's log, ordered by host, reference and time. Hosts and strings
 * must be loaded before. 0; -EPROTO: impossible values; or an error of database.h. */
int store_clocks_read(struct database *database, struct collection *collection);

#endif
