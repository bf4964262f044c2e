/* The unwind rules of the process's loaded files, compiled from .eh_frame, file by file, as they
 * are wanted. add, retire, build and the destroy are for one thread (the guest's helper); all else
 * is for any thread at any time: it takes no lock, allocates nothing and reads only tables that
 * stay. On other machines than x86_64 no table is ever built. */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eh_frame_image.h"

#define UNWIND_MODULES_MAX 8192u          /* executable segments */
#define UNWIND_BYTES_MAX   (256ull << 20) /* of all tables together, at most */

struct unwind_tables;

/* A loaded file's executable segment. */
struct unwind_module {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t identity;   /* of the file's content: equal for the same file at another address */
	uint64_t eh_frame_hdr; /* address of PT_GNU_EH_FRAME; 0: none */
	uint64_t eh_frame_hdr_size;
	struct eh_frame_image image; /* of the whole file */
	uint32_t flags;              /* enum definition_module_flags */
};

/* bytes_max: of all rows. mmap, not malloc. NULL: out of memory. The caller owns; destroy accepts
 * NULL, and no walk may be under way. */
struct unwind_tables *unwind_tables_create(uint64_t bytes_max);
void unwind_tables_destroy(struct unwind_tables *tables);

/* Enters a segment, replacing what overlaps it; nothing happens if it is there already. Its table
 * is built later, unless a table of the same identity is there already. 0; -EINVAL: an
 * empty segment; -ENOSPC. */
int unwind_tables_add(struct unwind_tables *tables, const struct unwind_module *module);

/* The segment at this start is gone: caches empty themselves, the table stays for when it comes
 * back. */
void unwind_tables_retire(struct unwind_tables *tables, uint64_t start);

#define UNWIND_BUILD_WANTED 0u
#define UNWIND_BUILD_ALL    UINT64_MAX

/* Builds what walks have wanted since the last call; then, until the calling thread has used
 * budget_ns of CPU time here, what nobody has wanted yet: small files first, as many as the budget
 * allows; if all are to be built the largest, because what walks want meanwhile goes before the rest
 * and has to wait for one file at most. A file's memory is copied in a way that cannot fault, should it be
 * unloaded. Returns the number built. */
uint32_t unwind_tables_build(struct unwind_tables *tables, uint64_t budget_ns);

/* Called from a walk when a table is wanted for the first time since the last build, and when a
 * walk meets a file that was loaded or replaced since the last add or retire: wakes the helper,
 * which should look for new files, then build. Must not block. May be NULL (the default). Set it
 * before the first walk. */
void unwind_tables_on_want(struct unwind_tables *tables, void (*wake)(void));

struct unwind_totals {
	uint32_t modules;     /* entered now */
	uint32_t built;       /* tables, those of files that are gone too */
	uint32_t failed;      /* no .eh_frame, or one that makes no sense */
	uint32_t over_budget; /* no room below bytes_max: not among failed */
	uint64_t rows, bytes;
	uint64_t build_ns; /* CPU time of the building thread */
};
/* For the thread that builds. */
void unwind_tables_totals(const struct unwind_tables *tables, struct unwind_totals *totals);

/* How often walks stopped in the i-th segment for want of a usable rule; i from 0; segments that
 * are gone too. For the thread that builds. false: there is no i-th; *start and *stops are then 0. */
bool unwind_tables_stops(const struct unwind_tables *tables, uint32_t i, uint64_t *start,
			 uint64_t *stops);

/* ---- for the walk ---- */

/* Moves whenever a segment comes or goes: a rule that was found before must be found anew. */
uint32_t unwind_tables_epoch(const struct unwind_tables *tables);

enum unwind_found {
	UNWIND_FOUND,     /* a rule, if only that there is none */
	UNWIND_WANTED,    /* not yet: the helper has been told */
	UNWIND_NOT_LOADED /* in no file */
};

/* The rule of the code at this address (of unwind_row.h); 0 unless found. */
enum unwind_found unwind_tables_find(struct unwind_tables *tables, uint64_t address,
				     uint32_t *rule);

/* Whether the address lies in a segment. */
bool unwind_tables_holds(const struct unwind_tables *tables, uint64_t address);

/* A walk stopped at this address for want of a usable rule. */
void unwind_tables_count_stop(struct unwind_tables *tables, uint64_t address);

#endif
