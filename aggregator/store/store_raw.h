/* The store's tables of single samples and of hosts' clocks (raw_log.h); part of the store. Single-threaded. */
#ifndef STORE_RAW_H
#define STORE_RAW_H

#include <stdint.h>

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/raw_log.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_raw_commands[];

/* Writes the additions, within the open transaction. */
int store_raw_write(struct statement_set *set, const struct raw_log *log);

/* Loads the hosts' clocks. Hosts must be loaded before. Errors as store_loader_load(). */
int store_raw_load(struct database *database, struct collection *collection);

/* For reports: *newest is the number of the newest sample; 0: there is none. */
int store_raw_newest(struct database *database, uint64_t *newest);

/* Gives all samples up to the newest to take(), in order of time, until that returns nonzero; returns that value. The
 * sample's time + realtime_offset_ns is CLOCK_REALTIME; 0: not known. Ids are not checked. -EPROTO: an impossible
 * value; or an error of database.h. */
typedef int store_raw_take(void *context, const struct raw_sample *sample,
			   int64_t realtime_offset_ns);
int store_raw_each(struct database *database, uint64_t newest, store_raw_take *take, void *context);

#endif
