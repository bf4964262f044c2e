/* The store's tables of the NUMA nodes of devices and threads, and of devices' links, telemetry and counters
 * (placement_log.h); part of the store. Single-threaded. */
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

/* For reports: reads the tables into the collection's log, ordered by their keys, but no samples. Devices, processes
 * and strings must be loaded before. 0; -EPROTO: impossible values; or an error of database.h. */
int store_placement_read(struct database *database, struct collection *collection);

/* For reports: gives the samples of a device to take(), by their begin, as long as that returns 0. Returns 0, the error
 * of take(); -EPROTO: impossible values; or an error of database.h. Samples without time are left out. */
typedef int store_placement_take(void *context, const struct counter_sample *sample);
int store_placement_counters(struct database *database, uint32_t device, store_placement_take *take,
			     void *context);

#endif
