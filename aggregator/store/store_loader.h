/* Reads the store's tables back into a collection; part of the store. Single-threaded. */
#ifndef STORE_LOADER_H
#define STORE_LOADER_H

#include "database.h"

#include "aggregator/profile/collection.h"

/* Into a fresh collection; the caller has begun a transaction, so that all tables are of one
 * moment. 0; -EPROTO: what stands there no store writes; other errors of database.h. */
int store_loader_load(struct database *database, struct collection *collection);

#endif
