/* The store's table of clock offsets (clock_log.h); part of the store. Single-threaded. */
#ifndef STORE_CLOCKS_H
#define STORE_CLOCKS_H

#include "database.h"

#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"

struct statement_set;

/* Comparisons of a host: those of a day and a half. When there are more, every second one goes, so that those of a long
 * run become the fewer the older they are. */
#define STORE_CLOCKS_MAX 4096u

/* The statements for writing; NULL ends them. */
extern const char *const store_clocks_commands[];

/* Writes the additions, within the open transaction, and keeps STORE_CLOCKS_MAX of each of their hosts at most. */
int store_clocks_write(struct statement_set *set, const struct clock_log *log);

/* For reports: reads the whole table into the collection's log, ordered by host, reference and time. Hosts and strings
 * must be loaded before. 0; -EPROTO: impossible values; or an error of database.h. */
int store_clocks_read(struct database *database, struct collection *collection);

#endif
