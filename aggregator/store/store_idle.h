/* The store's tables of what idle time is explained from (idle_log.h); part of the store. Single-threaded. */
#ifndef STORE_IDLE_H
#define STORE_IDLE_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/idle_work.h"
#include "proto/host_sample.h"

struct store_idle;

/* For writing. The database is borrowed until destroy. 0, or an error of database.h with *idle NULL. */
int store_idle_create(struct database *database, struct store_idle **idle);
void store_idle_destroy(struct store_idle *idle); /* accepts NULL */

/* Writes what changed, within the transaction that is open. */
int store_idle_write(struct store_idle *idle, struct idle_log *log);

/* As store_loader_load(), of these tables: as much of them as is needed to go on. Devices and processes are there. */
int store_idle_load(struct database *database, struct collection *collection);

/* For reports. All work of a device that was logged, block after block, *work NULL if there was none: *count pieces of
 * *records records; all work between *from_ns and *to_ns is there. The caller owns *work (free()). 0, -EPROTO, -EIO,
 * -ENOMEM. */
int store_idle_read_work(struct database *database, uint32_t device, struct idle_work **work,
			 uint32_t *count, uint64_t *records, uint64_t *from_ns, uint64_t *to_ns);

/* All samples of a process that were logged, in the order in which they came; likewise. */
int store_idle_read_samples(struct database *database, uint32_t process,
			    struct host_sample **samples, uint32_t *count);

#endif
