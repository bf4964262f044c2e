/* Whether a database is a store that readers accept; part of the store. Single-threaded. */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "database.h"

/* Loads all of it, and forgets it. The caller has begun a transaction, or is alone with the database. 0, or the error
 * of store_loader_load(). */
int store_check(struct database *database);

#endif
