/* The store's table of clock offsets (clock_log.h); part of the store. Single-threaded. */
#ifndef STORE_CLOCKS_H
#define STORE_CLOCKS_H

#include "database.h"

#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_clocks_commands[];

/* Writes the additions, within the open transaction. */
int store_clocks_write(struct statement_set *set, const struct clock_log *log);

/* For reports: reads the whole table into the collection's log, ordered by host, reference and time. Hosts and strings
 * must be loaded before. 0; -EPROTO: impossible values; or an error of database.h. */
int store_clocks_read(struct database *database, struct collection *collection);

#endif
