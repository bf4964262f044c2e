/* Reads the store's tables back into a collection; part of the store. Single-threaded. */
#ifndef STORE_LOADER_H
#define STORE_LOADER_H

#include "database.h"

#include "aggregator/profile/collection.h"

/* Loads into a fresh collection. The caller has begun a transaction, so that all tables show the same moment. 0;
 * -EPROTO: the tables have values that no writer writes; other errors of database.h. */
int store_loader_load(struct database *database, struct collection *collection);

/* The same for readers, who add nothing to it: with closed timelines (store_busy.h). */
int store_loader_load_closed(struct database *database, struct collection *collection);

/* How many tables are loaded. */
enum store_loader_depth {
	STORE_LOADER_PROCESSES = 5, /* strings, writers, hosts, devices and processes */
	STORE_LOADER_STACKS = 10,   /* also what stacks consist of, and each process's devices */
	STORE_LOADER_ACCOUNTS = 14, /* also agents, ledgers and notices of processes */
};

/* Loads what the other tables name. As above. */
int store_loader_load_names(struct database *database, struct collection *collection,
			    enum store_loader_depth depth);

#endif
