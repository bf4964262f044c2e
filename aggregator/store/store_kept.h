/* The store's tables of single pieces of work (kept_log.h); part of the store. Single-threaded. */
#ifndef STORE_KEPT_H
#define STORE_KEPT_H

#include "database.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "proto/host_sample.h"

struct block_code;
struct statement_set;

/* The statements for writing; NULL ends them. */
extern const char *const store_kept_commands[];

/* Writes the changes, within the open transaction. code is replaced. */
int store_kept_write(struct statement_set *set, struct block_code *code,
		     const struct kept_log *log);

/* Load the processes' levels, also of a merged profile, and then the part of these tables that a continued profile
 * needs. Processes must be loaded before. Errors as store_loader_load(). */
int store_kept_load_levels(struct database *database, struct collection *collection);
int store_kept_load(struct database *database, struct collection *collection);

/* For reports: reads all kept pieces of a process (kept_piece.sample). The caller owns *pieces (free(); NULL: none).
 * 0, -EPROTO, -EIO, -ENOMEM. */
int store_kept_read(struct database *database, enum kept_sort sort, uint32_t process,
		    struct host_sample **pieces, uint32_t *count);

/* The same of those that end in the last window_ns of what is kept. Some older ones may be among them. */
int store_kept_read_newest(struct database *database, enum kept_sort sort, uint32_t process,
			   uint64_t window_ns, struct host_sample **pieces, uint32_t *count);

/* The same of those that end after since_ns, of the pieces' clock. */
int store_kept_read_since(struct database *database, enum kept_sort sort, uint32_t process,
			  uint64_t since_ns, struct host_sample **pieces, uint32_t *count);

#endif
