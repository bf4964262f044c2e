/* Joins the launches and GPU records of one process on (capture window, correlation id) and folds the result. Either
 * may come first; one launch may have many records, or none.
 *   - A launch is retired by its first record and kept a while longer, for a copy that CUPTI reports in two parts.
 *   - A RECORD_LAUNCH_MANY launch stays until the process ends.
 *   - RECORD_LAUNCH_FAILED retires a launch.
 *   - Beyond launches_max outstanding launches the oldest expire: a launch may have no record at all (graph capture).
 *   - Records of one launch with different capture stacks, those of a graph's nodes, are different rows.
 *   - A record without its launch waits; beyond waiting_max the oldest is folded as unmatched.
 *   - A RECORD_LAUNCH_HOST call is answered by its wait or the like, a launch by work alone; overhead answers nobody.
 *     Of a launch and such a call with one id, parts of one call of the runtime's, the launch counts.
 *   - Records that no call is behind (unified memory, CUPTI's own flushes) are folded at once, without a stack, as
 *     matched.
 *   - A process that has as many different rows as it may (fold_limit.h) gets no more of them: further records go to
 *     merged rows, without stack, name, stream and thread.
 * What comes out depends on the order of the calls alone, also across save and load (but for the limit of rows,
 * which counts them since it was made). No I/O, no clock. One correlator is used by one thread. */
#ifndef CORRELATOR_H
#define CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "fold_table.h"
#include "launch_map.h"
#include "waiting_records.h"

#include "proto/record.h"

#define CORRELATOR_LAUNCHES_MAX (1u << 20)
#define CORRELATOR_RETIRED_MAX  4096u
#define CORRELATOR_WAITING_MAX  16384u
#define CORRELATOR_BLOCK_SIZE   1024u /* launches or records of one block at most */
/* Longer activities are taken for nonsense (about 9 years): sums of sane ones fit SQL's 64-bit
 * integers. */
#define CORRELATOR_DURATION_MAX_NS (1ull << 58)

struct correlator;
struct launch_delays;
struct memory_account;

/* 0: the default above. */
struct correlator_options {
	uint32_t launches_max, retired_max, waiting_max;
	/* where allocations and frees go, too; borrowed until destroy; NULL: nowhere */
	struct memory_account *memory;
	/* of kernels that a call of their own launched; borrowed until destroy; NULL: nowhere */
	struct launch_delays *delays;
	bool track_changes; /* for correlator_save() */
};

struct correlator_counts {
	uint64_t launches; /* RECORD_LAUNCH_FAILED and _HOST records not included */
	uint64_t failed;   /* RECORD_LAUNCH_FAILED records */
	uint64_t expired; /* launches given up, or left at the end, without a record or a failure */
	uint64_t records; /* = matched + unmatched + invalid + waiting */
	uint64_t matched, unmatched; /* folded; matched: or of no call */
	uint64_t invalid;            /* with times that no GPU produces: not folded */
	uint64_t launch_order, retire_order, waiting_order; /* the next ones */
};

/* Rows go to *table, with process_id in their keys; the table is borrowed until destroy. options
 * may be NULL. NULL: out of memory. correlator_destroy() accepts NULL and folds nothing. */
struct correlator *correlator_create(uint32_t process_id, const struct correlator_options *options,
				     struct fold_table *table);
void correlator_destroy(struct correlator *correlator);

/* CLOCK_MONOTONIC - CUPTI's clock, for what is joined from now on; not valid: delays are not known. Is not saved. */
void correlator_set_clock(struct correlator *correlator, int64_t offset_ns, bool valid);

/* 0 or -ENOMEM (the correlator is then no longer exact: give it up). */
int correlator_launch(struct correlator *correlator, const struct launch_record *record);
int correlator_record(struct correlator *correlator, const struct gpu_record *record);

/* Who launched a record that came just now; 0: not known (yet). */
uint32_t correlator_thread(const struct correlator *correlator, const struct gpu_record *record);

/* The process has ended: waiting records are folded as unmatched, launches without a record expire,
 * nothing is left to save. 0 or -ENOMEM. */
int correlator_finish(struct correlator *correlator);

/* Records since the last call that were folded into a merged row, because the process has too many rows. */
uint64_t correlator_take_merged(struct correlator *correlator);

/* Borrowed until destroy. */
const struct correlator_counts *correlator_counts(const struct correlator *correlator);
uint32_t correlator_waiting(const struct correlator *correlator); /* records, now */

enum correlator_block_kind {
	CORRELATOR_BLOCK_LAUNCHES = 0,
	CORRELATOR_BLOCK_RECORDS = 1,
};

/* A part of the state that is saved as one; count 0: nothing is left of it. */
struct correlator_block {
	enum correlator_block_kind kind;
	uint64_t index;                /* together with kind: which part */
	uint32_t count;                /* up to CORRELATOR_BLOCK_SIZE */
	const struct launch *launches; /* borrowed until put returns */
	const struct waiting_records_entry *records;
};

typedef int correlator_put(void *context, const struct correlator_block *block);

/* Hands every block that changed since correlator_saved() to put, until it returns nonzero; returns
 * that. */
int correlator_save(const struct correlator *correlator, correlator_put *put, void *context);
void correlator_saved(struct correlator *correlator);

/* On a fresh correlator: every block that was saved, in any order, then the counts. 0; -EINVAL: not
 * something that was saved; -ENOMEM. */
int correlator_load(struct correlator *correlator, const struct correlator_block *block);
int correlator_load_end(struct correlator *correlator, const struct correlator_counts *counts);

#endif
