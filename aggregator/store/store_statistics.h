/* The store's tables of API calls, launch configurations, launch delays and device limits; part of the store.
 * Single-threaded. */
#ifndef STORE_STATISTICS_H
#define STORE_STATISTICS_H

#include "database.h"

#include "aggregator/profile/collection.h"

struct store_statistics;

/* Opens for writing, and borrows the database until destroy. 0, or an error of database.h with *statistics NULL. */
int store_statistics_create(struct database *database, struct store_statistics **statistics);
void store_statistics_destroy(struct store_statistics *statistics); /* accepts NULL */

/* Writes the changes, within the open transaction. */
int store_statistics_write(struct store_statistics *statistics, const struct roster *roster);

/* Loads these tables. Strings, devices and processes must be loaded before. Errors as store_loader_load(). */
int store_statistics_load(struct database *database, struct collection *collection);

#endif
