/* The store's tables of the NUMA nodes of devices and threads, and of devices' links and telemetry (placement_log.h);
 * part of the store. Single-threaded. */
#ifndef STORE_PLACEMENT_H
#define STORE_PLACEMENT_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/placement_log.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_placement_commands[];

/* Writes the additions, within the open transaction. */
int store_placement_write(struct statement_set *set, const struct placement_log *log);

/* For reports: reads the tables into the collection's log, ordered by their keys. Devices, processes and strings must
 * be loaded before. 0; -EPROTO: impossible values; or an error of database.h. */
int store_placement_read(struct database *database, struct collection *collection);

#endif
