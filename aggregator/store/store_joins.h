/* Joins calls of collective libraries with their kernels, on (process, correlation id): those of one commit in memory,
 * others in the store's tables. Either may come first, and one kernel may have any number of calls. The newest
 * STORE_JOINS_ROOM kernels of a process, and up to a quarter more, wait for calls. A kernel that is dropped before a
 * call has asked for it is counted. All state is in the store. Part of store_collectives. Single-threaded. */
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

/* Within the open transaction: tells the store's calls of the log's kernels, and each of the calls of its kernel (gpu),
 * and writes the kernels. calls are the log's, which are not in the store yet. 0 or an error of database.h. */
int store_joins_write(struct statement_set *set, const struct collective_log *log,
		      struct collective_log_call *calls, uint32_t nr_calls);

/* Loads the state of the joins. Errors as store_collectives_load(). */
int store_joins_load(struct database *database, struct collection *collection);

/* For reports: adds the dropped kernels to the processes' ledgers, as LEDGER_KERNEL_UNJOINED. It leaves out processes
 * without a communicator, because they make no calls. 0 or an error of database.h. */
int store_joins_count(struct database *database, struct roster *roster);

#endif
