/* What became of the processes of each `flamegrid run --agent`, for when it asks (control.h). Of finitely many runs,
 * which users share (fair_shares.h): a user who may have no further one loses the one that was quiet the longest.
 * Single-threaded: only the agent loop calls it. */
#ifndef RUN_TABLE_H
#define RUN_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/control.h"

#define RUN_TABLE_MAX 256u

struct run_table;

/* NULL: out of memory. run_table_destroy() accepts NULL. */
struct run_table *run_table_create(void);
void run_table_destroy(struct run_table *table);

/* A process of this user's run was taken in. Run 0 is none: nothing happens, here and below. */
void run_table_begin(struct run_table *table, uint32_t run, uid_t uid);

struct run_table_sums {
	uint64_t launches, records, lost;
	uint64_t unclean;    /* 1: it ended without a goodbye */
	uint64_t taken_over; /* 1: an earlier agent had read of it */
	uint64_t seq;        /* of the last message about the process */
};

/* A process that was taken in has ended, with these sums. */
void run_table_end(struct run_table *table, uint32_t run, uid_t uid,
		   const struct run_table_sums *sums);

/* A process could not be recorded, for this reason (copied). seq: as above. */
void run_table_absent(struct run_table *table, uint32_t run, uid_t uid, const char *why,
		      uint64_t seq);

/* Fills *result for a run. Messages up to acked_seq are stored. result->place is not touched. A run that nobody has
 * heard of leaves *result as it is. */
void run_table_result(const struct run_table *table, uint32_t run, uid_t uid, uint64_t acked_seq,
		      struct control_result *result);

#endif
