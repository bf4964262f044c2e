/* The store's tables of streams and green contexts; part of the store. Single-threaded. */
#ifndef STORE_STREAMS_H
#define STORE_STREAMS_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_streams_commands[];

/* Writes the changes of the process with this id, within the open transaction. */
int store_streams_write(struct statement_set *set, uint32_t id,
			const struct roster_process *process);

/* Loads both tables into the collection's processes. Processes and strings must be loaded before. 0; -EPROTO:
 * impossible values; or an error of database.h. */
int store_streams_load(struct database *database, struct collection *collection);

#endif
