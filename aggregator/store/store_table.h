/* Tables of a store on their way back into a collection: what their rows are taken by. Part of store_loader; used by
 * one thread. */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include <stddef.h>

#include "database.h"

#include "aggregator/profile/collection.h"

/* Takes over one row. 0; -EPROTO: it cannot be; -ENOMEM. */
typedef int store_table_take(struct collection *collection, struct statement *row);

struct store_table {
	const char *sql;
	store_table_take *take;
};

/* Gives all rows of all tables to their takers, one after the other, until one fails. 0, its error, or one of the
 * database's. */
int store_table_load(struct database *database, struct collection *collection,
		     const struct store_table *tables, size_t nr_tables);

/* Takes no row: each that the query gives is one that must not be. */
int store_table_refuse(struct collection *collection, struct statement *row);

#endif
