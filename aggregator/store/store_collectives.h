/* The store's tables of calls of collective libraries; part of the store. Single-threaded. */
#ifndef STORE_COLLECTIVES_H
#define STORE_COLLECTIVES_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_log.h"

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_collectives_commands[];

/* Write the log's communicators, and calls, within the open transaction. A call without a row gets the next one. */
int store_collectives_write_communicators(struct statement_set *set,
					  const struct collective_log *log);
int store_collectives_write_calls(struct statement_set *set,
				  const struct collective_log_call *calls, uint32_t nr_calls);

/* Loads the part of these tables that a continued profile needs. Processes must be loaded before. Errors as
 * store_loader_load(). */
int store_collectives_load(struct database *database, struct collection *collection);

/* For reports: reads both tables into an empty log. most 0: all calls; else those that are not folded, of each rank's
 * end of a communicator the newest, about so many in all. 0, -EPROTO, -EIO, -ENOMEM. */
int store_collectives_read(struct database *database, struct collective_log *log, uint32_t most);

/* Is store_collectives_read() for the newest calls alone: from the first one on that is needed for the last window_ns
 * of each process, up to its newest call, and the call before them on each rank's end of a communicator, which may have
 * lasted until then; also for the last `least` calls there. */
int store_collectives_read_newest(struct database *database, struct collective_log *log,
				  uint64_t window_ns, uint32_t least);

#endif
