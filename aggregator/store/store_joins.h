/* Joins calls of collective libraries with their kernels, in the store's tables: on (process, correlation id). Either
 * may come first, and one kernel may have any number of calls. The newest STORE_JOINS_ROOM kernels of a process, and up
 * to a quarter more, wait for calls. A kernel that is dropped before a call has asked for it is counted. All state is
 * in the store. Part of store_collectives. Single-threaded. */
#ifndef STORE_JOINS_H
#define STORE_JOINS_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/roster.h"

#define STORE_JOINS_ROOM  16384u
#define STORE_JOINS_CHUNK (STORE_JOINS_ROOM / 4)

struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_joins_commands[];

/* Call these within the open transaction: the first before the log's calls are written, the second for each written
 * call, the third after them. */
int store_joins_kernels(struct statement_set *set, const struct collective_log *log);
int store_joins_asked(struct statement_set *set, uint32_t process, uint32_t correlation_id);
int store_joins_end(struct statement_set *set, const struct collective_log *log);

/* Loads the state of the joins. Errors as store_collectives_load(). */
int store_joins_load(struct database *database, struct collection *collection);

/* For reports: adds the dropped kernels to the processes' ledgers, as LEDGER_KERNEL_UNJOINED. It leaves out processes
 * without a communicator, because they make no calls. 0 or an error of database.h. */
int store_joins_count(struct database *database, struct roster *roster);

#endif
