/* Reads the store's tables back into a collection; part of the store. Single-threaded. */
#ifndef STORE_LOADER_H
#define STORE_LOADER_H

#include <stdbool.h>

#include "database.h"

#include "aggregator/profile/collection.h"

/* Loads into a fresh collection. The caller has begun a transaction, so that all tables show the same moment. 0;
 * -EPROTO: the tables have values that no writer writes; other errors of database.h. */
int store_loader_load(struct database *database, struct collection *collection);

/* The same for readers, who add nothing to it: with closed timelines (store_busy.h). */
int store_loader_load_closed(struct database *database, struct collection *collection);

/* Loads what the other tables name: strings, writers, hosts, devices and processes, and, if it is wanted, what stacks
 * consist of, and which processes use which devices. As above. */
int store_loader_load_names(struct database *database, struct collection *collection, bool stacks);

#endif
