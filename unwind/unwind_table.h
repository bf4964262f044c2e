/* The unwind rules of the process's loaded files. They are compiled from .eh_frame, file by file, when a walk wants
 * them. One thread (the guest's helper) adds, retires, builds and destroys. Any thread may call the other functions at
 * any time: they take no lock, allocate nothing and read only tables that stay. Tables are built on x86_64 alone. */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "eh_frame_image.h"

#define UNWIND_MODULES_MAX 8192u          /* executable segments */
#define UNWIND_BYTES_MAX   (256ull << 20) /* of all tables; shared ones may exceed it */

struct unwind_tables;

/* A loaded file's executable segment. */
struct unwind_module {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t identity;   /* of the file's content: equal for the same file at another address */
	uint64_t tag; /* of its table (table_arena.h), for other processes; 0: it is not shared */
	uint64_t eh_frame_hdr; /* address of PT_GNU_EH_FRAME; 0: none */
	uint64_t eh_frame_hdr_size;
	struct eh_frame_image image; /* of the whole file */
	uint32_t flags;              /* enum definition_module_flags */
};

/* bytes_max: of all tables together, and of the rows of the file that is being built. Shared tables count, but are
 * taken also beyond it. Memory comes from mmap(), not malloc(). The caller owns the tables. NULL: out of memory.
 * unwind_tables_destroy() accepts NULL; no walk may be under way. */
struct unwind_tables *unwind_tables_create(uint64_t bytes_max);
void unwind_tables_destroy(struct unwind_tables *tables);

/* Takes tables from the arena that this descriptor is (table_arena.h), and enters there those that it builds. The
 * caller keeps the descriptor. Once, and before anything is built. Returns 0, or an error of table_arena_map(): tables
 * are then built for this process alone. */
int unwind_tables_share(struct unwind_tables *tables, int fd);

/* Enters a segment in place of those that overlap it. Does nothing if the segment is there already. Its table is built
 * later, unless there is a table of the same identity. Returns 0; -EINVAL: the segment is empty; -ENOSPC. */
int unwind_tables_add(struct unwind_tables *tables, const struct unwind_module *module);

/* Says that the segment at this start is gone. Caches empty themselves. The table stays: the file may come back. */
void unwind_tables_retire(struct unwind_tables *tables, uint64_t start);

/* Before each file that no walk wants, unwind_tables_build() asks whether it goes on, as a large file takes a second.
 * On the building thread. Without this call it always does. */
void unwind_tables_ask(struct unwind_tables *tables, bool (*goes_on)(void));

#define UNWIND_BUILD_WANTED 0u
#define UNWIND_BUILD_ALL    UINT64_MAX

/* Builds the tables that walks have wanted since the last call. Then builds others, until the calling thread has used
 * budget_ns of CPU time here: small files first, as many as the budget allows. If all are to be built, the largest go
 * first: a table that a walk wants meanwhile goes before the rest, and waits for one file at most. A file's memory is
 * copied in a way that cannot fault if the file is unloaded. A table that another process is building is left for a
 * later call, unless a walk wants it, or it takes little time to build it here, too. Returns the number of tables that
 * are there now and were not before. */
uint32_t unwind_tables_build(struct unwind_tables *tables, uint64_t budget_ns);

/* A walk calls `wake` when it is the first since the last build that wants a table. It also does when it meets a file
 * that was loaded or replaced since the last add or retire. `wake` should wake the helper, which looks for new files
 * and then builds. It must not block, and may be NULL (the default). Set it before the first walk. */
void unwind_tables_on_want(struct unwind_tables *tables, void (*wake)(void));

struct unwind_totals {
	uint32_t modules;     /* entered now */
	uint32_t built;       /* tables, those of files that are gone too */
	uint32_t shared;      /* those of them that lie in the arena */
	uint32_t failed;      /* no .eh_frame, or one that makes no sense */
	uint32_t over_budget; /* no room below bytes_max: not among failed */
	uint64_t rows, bytes;
	uint64_t made_bytes; /* of bytes: of tables built here, also those in the arena */
	uint64_t build_ns;   /* CPU time of the building thread */
};
/* For the thread that builds. */
void unwind_tables_totals(const struct unwind_tables *tables, struct unwind_totals *totals);

/* Tells how often walks stopped in the i-th segment for want of a usable rule. i counts from 0, over segments that are
 * gone too. For the thread that builds. false: there is no i-th, and *start and *stops are 0. */
bool unwind_tables_stops(const struct unwind_tables *tables, uint32_t i, uint64_t *start,
			 uint64_t *stops);

/* ---- for the walk */

/* A number that changes whenever a segment comes or goes. A rule of another epoch must be looked up again. */
uint32_t unwind_tables_epoch(const struct unwind_tables *tables);

enum unwind_found {
	UNWIND_FOUND,     /* there is a rule, which may say that the code has none */
	UNWIND_WANTED,    /* the table is not built yet, and the helper has been told */
	UNWIND_NOT_LOADED /* the address lies in no file */
};

/* Looks up the rule (unwind_row.h) of the code at an address. *rule is 0 unless it is found. */
enum unwind_found unwind_tables_find(struct unwind_tables *tables, uint64_t address,
				     uint32_t *rule);

/* Returns whether the address lies in a segment. */
bool unwind_tables_holds(const struct unwind_tables *tables, uint64_t address);

/* Counts a walk that stopped at this address for want of a usable rule. */
void unwind_tables_count_stop(struct unwind_tables *tables, uint64_t address);

#endif
