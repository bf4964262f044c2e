/* The store's tables of the data that explains idle time (idle_log.h); part of the store. Single-threaded. */
#ifndef STORE_IDLE_H
#define STORE_IDLE_H

#include "database.h"

#include "aggregator/core/idle_work.h"
#include "aggregator/profile/collection.h"

struct block_code;
struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_idle_commands[];

/* Writes the changes, within the open transaction. code is replaced. */
int store_idle_write(struct statement_set *set, struct block_code *code, struct idle_log *log);

/* Loads the part of these tables that a continued profile needs. Devices and processes must be loaded before. Errors as
 * store_loader_load(). */
int store_idle_load(struct database *database, struct collection *collection);

/* For reports: reads all work of a device that a writer logged, block after block: *count pieces, made of *records
 * records. They are complete between *from_ns and *to_ns. The caller owns *work (free(); NULL: none). 0, -EPROTO, -EIO,
 * -ENOMEM. */
int store_idle_read_work(struct database *database, uint32_t device, uint32_t writer,
			 struct idle_work **work, uint32_t *count, uint64_t *records,
			 uint64_t *from_ns, uint64_t *to_ns);

/* For a look at a growing profile: the same of its own writer's work from *block on. The first blocks without work
 * after after_ns are left out, and *block is the one behind them. A device without a log has no work. */
int store_idle_read_newer(struct database *database, uint32_t device, uint64_t after_ns,
			  uint32_t *block, struct idle_work **work, uint32_t *count,
			  uint64_t *from_ns, uint64_t *to_ns);

#endif
