/* The store's tables of calls of collective libraries; part of the store. Single-threaded. */
#ifndef STORE_COLLECTIVES_H
#define STORE_COLLECTIVES_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_log.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_collectives_commands[];

/* Writes the additions, within the open transaction. joins has the statements of store_joins.h. */
int store_collectives_write(struct statement_set *set, struct statement_set *joins,
			    const struct collective_log *log);

/* Loads the part of these tables that a continued profile needs. Processes must be loaded before. Errors as
 * store_loader_load(). */
int store_collectives_load(struct database *database, struct collection *collection);

/* For reports: reads both tables into an empty log. most 0: all calls; else those that are not folded, of each rank's
 * end of a communicator the newest, about so many in all. 0, -EPROTO, -EIO, -ENOMEM. */
int store_collectives_read(struct database *database, struct collective_log *log, uint32_t most);

#endif
