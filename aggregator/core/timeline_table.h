/* All timelines of a job. Each stream has one, and each device has one over all its streams and processes. Each process
 * has one on each device for its work, and others for its kernels. One table is used by one thread. */
#ifndef TIMELINE_TABLE_H
#define TIMELINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "stream_timeline.h"

enum timeline_level {
	TIMELINE_STREAM = 0,
	/* context_id and stream_id are 0; device_id is the store's, process_id that of the profile's writer */
	TIMELINE_DEVICE = 1,
	/* for a device that the process has not described; context_id and stream_id are 0. Once it has, there are
	 * no records in it any more */
	TIMELINE_ORDINAL = 2,
	/* For a process on a device; context_id and stream_id are 0. The overlap of communication with computation is
	 * COMMUNICATION + COMPUTATION - KERNELS, by the lengths of the unions. */
	TIMELINE_WORK = 3,          /* all work of the process */
	TIMELINE_COMPUTATION = 4,   /* kernels except NCCL's */
	TIMELINE_COMMUNICATION = 5, /* NCCL's kernels */
	/* all kernels; missing if none is NCCL's, because it would equal COMPUTATION */
	TIMELINE_KERNELS = 6,
	/* When nothing was captured, between capture windows (timeline_pauses.h): of a process, with device_id 0, and
	 * of a device in any of its processes, with keys as of TIMELINE_DEVICE */
	TIMELINE_PAUSES = 7,
	TIMELINE_DEVICE_PAUSES = 8,
	TIMELINE_LEVELS,
};

/* intervals_max of pauses: at least the last half of them stay open */
#define TIMELINE_PAUSES_INTERVALS (2 * STREAM_TIMELINE_KEEP)

struct timeline_key {
	uint32_t level; /* enum timeline_level */
	uint32_t process_id;
	uint32_t device_id; /* CUDA ordinal in the process; for TIMELINE_DEVICE the store's id */
	uint32_t context_id, stream_id;
};

struct timeline_entry {
	struct timeline_key key;
	struct stream_timeline *timeline; /* owns */
	uint32_t nr_blocks;               /* stored blocks of open intervals */
	uint32_t
		next; /* id of another entry of this process; 0: it is the last one. The table's own */
	bool changed; /* since timeline_table_saved() */
};

/* An entry's open intervals are stored in blocks. Each block has the intervals that were added since the previous one,
 * so a commit writes only new ones. One block with all open intervals replaces the others if there are
 * TIMELINE_BLOCKS_MAX of them, or by stream_timeline_unsaved(). Intervals of older blocks
 * before the horizon are closed already. */
#define TIMELINE_BLOCKS_MAX 64u

struct timeline_block {
	bool clear;                                /* the entry's blocks must be deleted first */
	uint32_t index;                            /* counts from 0 */
	uint32_t count;                            /* 0: no block is to be written */
	const struct timeline_interval *intervals; /* in order */
};

struct timeline_table;

/* NULL: out of memory. timeline_table_destroy() accepts NULL. */
struct timeline_table *timeline_table_create(void);
void timeline_table_destroy(struct timeline_table *table);

/* Returns the key's entry, which is made if it is new. NULL: out of memory. Borrowed until the next call. */
struct timeline_entry *timeline_table_get(struct timeline_table *table,
					  const struct timeline_key *key);

/* Adds the times to the key's timeline by stream_timeline_add(). */
int timeline_table_add(struct timeline_table *table, const struct timeline_key *key,
		       uint64_t start_ns, uint64_t end_ns);

/* The same for an entry. */
int timeline_entry_add(struct timeline_entry *entry, uint64_t start_ns, uint64_t end_ns);

/* Gives what `from` has to `to`, which is the same device by a key that was not known before, by
 * stream_timeline_take(). 0; -ENOMEM: `from` is unchanged. */
int timeline_table_move(struct timeline_table *table, const struct timeline_key *from,
			const struct timeline_key *to);

/* Adds a kernel of a process on a device to COMMUNICATION or COMPUTATION, and to KERNELS if that exists. 0; -ENOMEM:
 * the three no longer fit each other exactly. */
int timeline_table_add_kernel(struct timeline_table *table, uint32_t process_id, uint32_t device_id,
			      bool communicates, uint64_t start_ns, uint64_t end_ns);

/* Returns the key's entry; NULL: there is none. Borrowed until the next get or add. It notes the entry, because records
 * come in runs. */
struct timeline_entry *timeline_table_find(struct timeline_table *table,
					   const struct timeline_key *key);

/* Returns the process's entry behind this one, or its first one for NULL; NULL: there is no other. Keys of devices have
 * writers in place of processes. Borrowed until the next get or add. */
struct timeline_entry *timeline_table_next(struct timeline_table *table, uint32_t process_id,
					   const struct timeline_entry *entry);

/* Returns whether an entry is of pauses. */
bool timeline_table_has_pauses(const struct timeline_table *table);

/* Fetches a process's timelines into the processor's cache, because records of it follow, and notes them as if they had
 * been found last. Changes nothing else. */
void timeline_table_expect(struct timeline_table *table, uint32_t process_id);

/* Closes the timelines of a process that has ended. */
void timeline_table_close(struct timeline_table *table, uint32_t process_id);

/* Borrowed until the next get or add. */
const struct timeline_entry *timeline_table_entries(const struct timeline_table *table,
						    uint32_t *nr_entries);

/* Returns the block to write for a changed entry. Borrowed until the next get, add or close. */
struct timeline_block timeline_table_block(const struct timeline_entry *entry);

/* Marks all changed entries and their blocks as stored. */
void timeline_table_saved(struct timeline_table *table);

/* Loads the key's next block from the store. 0; -EINVAL: not a block, or not the next one; -ENOMEM. */
int timeline_table_load(struct timeline_table *table, const struct timeline_key *key,
			const struct timeline_block *block);

#endif
