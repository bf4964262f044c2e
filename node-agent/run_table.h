/* What became of the processes of each `flamegrid run --agent`, for when it asks (control.h). Of finitely many runs: the one that was quiet the longest
 * makes room. Single-threaded: only the agent loop calls it. */
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

/* A process of this user's run was taken in; it has ended, with that many records, and the last message about it was seq; one could not be recorded, for
 * that reason. run 0: of none, nothing happens. */
void run_table_begin(struct run_table *table, uint32_t run, uid_t uid);
struct run_table_sums {
	uint64_t launches, records, lost, seq;
};
void run_table_end(struct run_table *table, uint32_t run, uid_t uid,
		   const struct run_table_sums *sums);
void run_table_absent(struct run_table *table, uint32_t run, uid_t uid, const char *why,
		      uint64_t seq);

/* What there is to say of it, acked_seq being acknowledged. The place stays as it is. Of a run that nobody has heard of: zeros. */
void run_table_result(const struct run_table *table, uint32_t run, uid_t uid, uint64_t acked_seq,
		      struct control_result *result);

#endif
