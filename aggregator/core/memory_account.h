/* The memory of one process. For each device and memory space it has the live bytes, their peak and its time. For each
 * stack it has the bytes that live now, and those that lived at the peak.
 *   - Allocations and frees may come in any order. Each is held until an event that is later by window_ns has come, or
 *     waiting_max are held. Then the earliest is taken. An event that is even later is taken at once and counted.
 *   - A free belongs to the allocation that lives at its address, whatever device, kind or size it claims, unless that
 *     allocation is younger. A free of an address where nothing lives is counted: the profiler came late, or the
 *     allocation was lost.
 *   - An allocation at a used address replaces the earlier one. The earlier one's free was lost, its context went with
 *     all its memory, or its free is timed a little late. A free within MEMORY_ACCOUNT_OWED_NS belongs to the earlier
 *     one; other such frees are counted. An allocation that was reported twice counts once.
 *   - Beyond live_max live allocations, further ones are only counted, and the account is incomplete.
 *   - A new peak costs time for the changes since the last one, not for all rows.
 * The result depends only on the calls of add and finish, also across save and load. No I/O, no clock. One account is
 * used by one thread. */
#ifndef MEMORY_ACCOUNT_H
#define MEMORY_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "memory_slots.h"

#define MEMORY_ACCOUNT_LIVE_MAX    (1u << 20)
#define MEMORY_ACCOUNT_WAITING_MAX (1u << 19)
#define MEMORY_ACCOUNT_WINDOW_NS   30000000000u
#define MEMORY_ACCOUNT_OWED_NS     1000000000u
#define MEMORY_ACCOUNT_STUCK       ((uint64_t)INT64_MAX) /* sums never exceed this */

struct memory_account;

/* 0: the default above. */
struct memory_account_options {
	uint32_t live_max, waiting_max;
	uint64_t window_ns;
	bool track_changes; /* for memory_account_save() */
};

/* The sums of one device and one memory space. */
struct memory_sums {
	/* CUDA ordinal; RECORD_DEVICES_MAX - 1 stands for all from there on; 0 for the host's memory */
	uint32_t device_id;
	uint32_t space;                                  /* enum memory_space */
	uint64_t allocs, alloc_bytes, frees, free_bytes; /* of events taken so far */
	uint64_t live_count, live_bytes;
	uint64_t peak_bytes;                   /* the most that lived at once */
	uint64_t peak_ns;                      /* first time of the peak; 0: nothing ever lived */
	uint64_t first_ns, last_ns;            /* of the events taken */
	uint64_t unknown_frees, unknown_bytes; /* frees of addresses where nothing lived, and their bytes */
	uint64_t duplicates; /* allocations that were reported twice; not in allocs */
	uint64_t replaced;   /* allocations that were replaced at their address */
	uint64_t untracked;  /* allocations that were only counted: live_max, or no address */
	uint64_t late;       /* events taken out of order */
};

struct memory_row_key { /* every byte counts for equality: fill it from a zeroed struct */
	uint32_t device_id;
	uint32_t stack_id, tid; /* of the allocation */
	uint8_t kind;           /* enum memory_kind */
	uint8_t matched;        /* 1: the call's launch record was found */
	uint16_t reserved;      /* 0 */
};

struct memory_row {
	struct memory_row_key key;
	uint64_t live_count, live_bytes;
	uint64_t peak_count, peak_bytes; /* at the peak of its device and space */
};

/* options may be NULL. NULL: out of memory. memory_account_destroy() accepts NULL. */
struct memory_account *memory_account_create(const struct memory_account_options *options);
void memory_account_destroy(struct memory_account *account);

/* 0 or -ENOMEM (the account is then no longer exact: give it up). */
int memory_account_add(struct memory_account *account, const struct memory_event *event);

/* Ends the process: takes all waiting events. Memory that still lives was never freed. Only rows and sums are left to
 * save. 0 or -ENOMEM. */
int memory_account_finish(struct memory_account *account);

/* In the order of their first appearance. Borrowed until the next add, finish or load. */
const struct memory_sums *memory_account_sums(const struct memory_account *account,
					      uint32_t *count);
const struct memory_row *memory_account_rows(const struct memory_account *account, uint32_t *count);
uint32_t memory_account_waiting(const struct memory_account *account); /* events that wait now */

/* Receives the changes. Each function returns 0, or another value that ends saving and is its result. Arguments are
 * borrowed until the function returns. */
struct memory_account_sink {
	int (*sums)(void *context, const struct memory_sums *sums);
	int (*row)(void *context, const struct memory_row *row);
	memory_slots_put *slots;
	void *context;
};

/* Gives all changes since memory_account_saved() to the sink. */
int memory_account_save(const struct memory_account *account,
			const struct memory_account_sink *sink);
void memory_account_saved(struct memory_account *account);

/* Load all saved parts into a fresh account, in any order, then call the last function. 0; -EINVAL:
 * memory_account_save() wrote no such thing; -ENOMEM. */
int memory_account_load_sums(struct memory_account *account, const struct memory_sums *sums);
int memory_account_load_row(struct memory_account *account, const struct memory_row *row);
int memory_account_load_slot(struct memory_account *account, const struct memory_slot *slot);
int memory_account_load_end(struct memory_account *account);

#endif
