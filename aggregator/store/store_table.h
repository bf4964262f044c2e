/* Loads tables of a store into a collection, by one function for each table. Part of store_loader; used by one thread.
 */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include <stddef.h>

#include "database.h"

#include "aggregator/profile/collection.h"

/* Takes one row. 0; -ENOMEM; any other error: its values are impossible. */
typedef int store_table_take(struct collection *collection, struct statement *row);

struct store_table {
	const char *sql;
	store_table_take *take;
};

/* Gives all rows of all tables to their functions, one after the other, until one fails. 0; -EPROTO: impossible values;
 * -ENOMEM; or an error of the database. */
int store_table_load(struct database *database, struct collection *collection,
		     const struct store_table *tables, size_t nr_tables);

/* Refuses every row, for queries that find only impossible rows. */
int store_table_refuse(struct collection *collection, struct statement *row);

#endif
