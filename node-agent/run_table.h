/* The results of the processes of each `flamegrid run --agent`, for its question (control.h). Users share RUN_TABLE_MAX
 * runs (fair_shares.h). A user at the limit loses the run that was quiet the longest. Single-threaded: only the agent
 * loop calls it. */
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

/* A process of this user's run was accepted. Run 0 is no run: this function and those below do nothing. */
void run_table_begin(struct run_table *table, uint32_t run, uid_t uid);

struct run_table_sums {
	uint64_t launches, records, lost;
	uint64_t unclean;    /* 1: the process ended without a goodbye */
	uint64_t taken_over; /* 1: an earlier agent had recorded it before */
	uint64_t seq;        /* of the last message about the process */
};

/* An accepted process has ended, with these sums. */
void run_table_end(struct run_table *table, uint32_t run, uid_t uid,
		   const struct run_table_sums *sums);

/* A process could not be recorded, for this reason (copied). seq: of the message that says so. */
void run_table_absent(struct run_table *table, uint32_t run, uid_t uid, const char *why,
		      uint64_t seq);

/* Fills *result for a run, but for result->place. Messages up to acked_seq are stored. An unknown run leaves *result as
 * it is. */
void run_table_result(const struct run_table *table, uint32_t run, uid_t uid, uint64_t acked_seq,
		      struct control_result *result);

#endif
