/* Joins the launches and GPU records of one process on (capture window, correlation id) and folds the result. Either
 * may come first; one launch may have many records, or none.
 *   - A launch is retired by its first record and kept a while longer, for a copy that CUPTI reports in two parts.
 *   - A RECORD_LAUNCH_MANY launch stays until the process ends.
 *   - RECORD_LAUNCH_FAILED retires a launch.
 *   - Beyond launches_max outstanding launches the oldest expire (launch_expiry.h). So does a launch whose id comes
 *     again, and one that has no record when its process ends.
 *   - Records of one launch with different capture stacks, those of a graph's nodes, are different rows.
 *   - A record without its launch waits; beyond waiting_max the oldest is folded as unmatched.
 *   - GPU work matches a launch only. A wait or an allocation may match a RECORD_LAUNCH_HOST call. Overhead matches
 *     neither. A launch and a host call with the same id belong to one call of the runtime: the launch counts.
 *   - Records without a call (unified memory, CUPTI's own flushes) are folded at once, without a stack, as matched.
 *   - A process whose rows are at their limit (fold_limit.h) gets no new ones. Further records go to merged rows,
 *     without stack, name, stream and thread.
 * The result depends on the order of the calls alone, also across save and load. The exceptions count from the
 * correlator's creation: the limit of rows and correlator_take_late(). No I/O, no clock. One correlator is used by one
 * thread. */
#ifndef CORRELATOR_H
#define CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "fold_table.h"
#include "launch_map.h"
#include "waiting_records.h"

#include "proto/record.h"

#define CORRELATOR_LAUNCHES_MAX (1u << 21)
#define CORRELATOR_RETIRED_MAX  4096u
#define CORRELATOR_WAITING_MAX  16384u
#define CORRELATOR_PREFETCH_MAX 32u   /* records of one call of correlator_prefetch() at most */
#define CORRELATOR_BLOCK_SIZE   1024u /* launches or records of one block at most */
/* A longer activity (about 9 years) counts as invalid, so that sums fit SQL's 64-bit integers. */
#define CORRELATOR_DURATION_MAX_NS (1ull << 58)

struct correlator;
struct launch_delays;
struct memory_account;

/* 0: the default above. */
struct correlator_options {
	uint32_t launches_max, retired_max, waiting_max;
	/* also gets allocations and frees; borrowed until destroy; NULL: none */
	struct memory_account *memory;
	/* gets the delays of kernels that have a launch of their own; borrowed until destroy; NULL: none */
	struct launch_delays *delays;
	bool track_changes; /* for correlator_save() */
};

struct correlator_counts {
	uint64_t launches; /* RECORD_LAUNCH_FAILED and _HOST records not included */
	uint64_t failed;   /* RECORD_LAUNCH_FAILED records */
	uint64_t expired;  /* launches without a record or a failure, given up or left at the end */
	uint64_t records;  /* = matched + unmatched + invalid + waiting */
	uint64_t matched, unmatched; /* folded; matched includes records without a call */
	uint64_t invalid;            /* not folded: their times are impossible */
	uint64_t launch_order, retire_order, waiting_order; /* the next numbers */
};

/* Makes a correlator that adds rows with process_id in their keys to *table, which is borrowed until destroy. options
 * may be NULL. NULL: out of memory. correlator_destroy() accepts NULL and folds nothing. */
struct correlator *correlator_create(uint32_t process_id, const struct correlator_options *options,
				     struct fold_table *table);
void correlator_destroy(struct correlator *correlator);

/* Sets CLOCK_MONOTONIC - CUPTI's clock for later joins; if it is not valid, delays are not known. The clock is not
 * saved. */
void correlator_set_clock(struct correlator *correlator, int64_t offset_ns, bool valid);

/* 0 or -ENOMEM (the correlator is then no longer exact: give it up). */
int correlator_launch(struct correlator *correlator, const struct launch_record *record);
int correlator_record(struct correlator *correlator, const struct gpu_record *record);

/* Fetch into the processor's cache what calls of the two functions above with these records will look up. The tables
 * are larger than caches, and one wait for many lookups is shorter than a wait for each. Changes nothing.
 * count: at most CORRELATOR_PREFETCH_MAX (asserted). */
void correlator_prefetch_launch(const struct correlator *correlator,
				const struct launch_record *record);
void correlator_prefetch(const struct correlator *correlator, const struct gpu_record *records,
			 uint32_t count);

/* Finds the thread that launched this record, which was added last, and its stack. Returns false: the launch is not
 * known (yet); both are then 0. */
bool correlator_launched(const struct correlator *correlator, const struct gpu_record *record,
			 uint32_t *tid, uint32_t *stack_id);

/* Ends the process: waiting records are folded as unmatched, launches without a record expire, and nothing is left to
 * save. 0 or -ENOMEM. */
int correlator_finish(struct correlator *correlator);

/* Returns how many records went to merged rows since the last call of this function. */
uint64_t correlator_take_merged(struct correlator *correlator);

/* Returns how many records of GPU work were folded without their launch, since the last call of this function, because
 * the launch had expired beyond launches_max. Which launch was the record's is not known: the count never exceeds the
 * launches given up, and a record whose launch was lost before counts, too. */
uint64_t correlator_take_late(struct correlator *correlator);

/* Borrowed until destroy. */
const struct correlator_counts *correlator_counts(const struct correlator *correlator);
uint32_t correlator_waiting(const struct correlator *correlator); /* records that wait now */

/* Returns the time, of CUPTI's clock, of the earliest launch since since_ns (the same clock) that still waits for its
 * first record: something may have run on a GPU since then. UINT64_MAX: there is none, or the clock is not known. Looks
 * at all launches. */
uint64_t correlator_unanswered(const struct correlator *correlator, uint64_t since_ns);

enum correlator_block_kind {
	CORRELATOR_BLOCK_LAUNCHES = 0,
	CORRELATOR_BLOCK_RECORDS = 1,
};

/* A part of the state that is saved as a whole; count 0: the part is empty now. */
struct correlator_block {
	enum correlator_block_kind kind;
	uint64_t index;                /* names the part, together with kind */
	uint32_t count;                /* up to CORRELATOR_BLOCK_SIZE */
	const struct launch *launches; /* borrowed until put returns */
	const struct waiting_records_entry *records;
};

typedef int correlator_put(void *context, const struct correlator_block *block);

/* Hands every block that changed since correlator_saved() to put, until it returns nonzero, and returns that value. */
int correlator_save(const struct correlator *correlator, correlator_put *put, void *context);
void correlator_saved(struct correlator *correlator);

/* Load every saved block into a fresh correlator, in any order, then the counts. 0; -EINVAL: correlator_save() wrote no
 * such block; -ENOMEM. */
int correlator_load(struct correlator *correlator, const struct correlator_block *block);
int correlator_load_end(struct correlator *correlator, const struct correlator_counts *counts);

#endif
