/* The store's tables of API calls, launch configurations, launch delays and device limits; part of the store.
 * Single-threaded. */
#ifndef STORE_STATISTICS_H
#define STORE_STATISTICS_H

#include "database.h"

#include "aggregator/profile/collection.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_statistics_commands[];

/* Writes the changes, within the open transaction. */
int store_statistics_write(struct statement_set *set, const struct roster *roster);

/* Loads these tables. Strings, devices and processes must be loaded before. Errors as store_loader_load(). */
int store_statistics_load(struct database *database, struct collection *collection);

#endif
