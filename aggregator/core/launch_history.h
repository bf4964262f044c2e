/* The launches of one process for which records may still come. Outstanding launches stay until they are answered or
 * expire (launch_expiry.h), and retired ones a while longer. The history also knows the blocks that changed since the
 * last save. An order in the arguments is always above those of earlier calls. Pure; part of the correlator. One
 * thread. */
#ifndef LAUNCH_HISTORY_H
#define LAUNCH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "block_set.h"
#include "launch_map.h"

#define LAUNCH_HISTORY_BLOCK 1024u /* neighbouring correlation ids */

/* Launches are added, answered and forgotten at three places, which each move along slowly. */
enum launch_touch {
	LAUNCH_TOUCH_ADD,
	LAUNCH_TOUCH_ANSWER,
	LAUNCH_TOUCH_FORGET,
	LAUNCH_TOUCHES,
};

/* Slots of retired launches are made in chunks, because a process with few launches needs few of them. */
#define LAUNCH_RETIRED_CHUNK 256u

/* A retired launch. It has the slot (order % retired_max). */
struct launch_retired {
	uint64_t order; /* order + 1; 0: empty */
	uint32_t correlation_id;
	uint16_t window;
};

/* Embedded. */
struct launch_history {
	struct launch_map map;
	uint32_t nr_outstanding; /* launches not retired */
	uint32_t retired_max;
	struct launch_retired **retired; /* owns, with the chunks; NULL: all its slots are empty */
	bool track_changes;
	struct block_set changed;         /* since launch_history_saved() */
	uint64_t touched[LAUNCH_TOUCHES]; /* the block that each place changed last */
};

/* 0 or -ENOMEM. launch_history_fini() accepts a history after an error, and zeroed memory. */
int launch_history_init(struct launch_history *history, uint32_t retired_max, bool track_changes);
void launch_history_fini(struct launch_history *history);

/* Borrowed until the next call that may fail; NULL: unknown launch. */
struct launch *launch_history_find(const struct launch_history *history, uint32_t window,
				   uint32_t correlation_id);

/* Returns whether a record or a failure of this launch is still expected. */
bool launch_history_is_unanswered(const struct launch *launch);

/* Returns the time of the earliest launch since since_ns for which a record or a failure is still expected; UINT64_MAX:
 * there is none. Looks at all launches. */
uint64_t launch_history_earliest(const struct launch_history *history, uint64_t since_ns);

/* The functions below take a launch from launch_history_find(). They return 0 or -ENOMEM: the blocks to save are then
 * not known. */

/* Adds an outstanding launch whose key is not present. -ENOMEM: perhaps it was not added, either. */
int launch_history_add(struct launch_history *history, const struct launch *launch);

/* Marks a launch that the caller has changed. */
int launch_history_touch(struct launch_history *history, const struct launch *launch);

/* Retires an outstanding launch that was answered or failed. Forgets the launch that was retired retired_max launches
 * before. */
int launch_history_retire(struct launch_history *history, struct launch *launch, uint64_t order);

/* Fetches into the processor's cache what it takes to retire the launches with the numbers from order on. Changes
 * nothing. */
void launch_history_prefetch(const struct launch_history *history, uint64_t order, uint32_t count);

int launch_history_forget(struct launch_history *history, struct launch *launch);

/* Forgets all launches without marking a change, and returns the number of unanswered ones. */
uint64_t launch_history_end(struct launch_history *history);

/* Copies the launches of a block, and returns their number. */
uint32_t launch_history_block(const struct launch_history *history, uint64_t index,
			      struct launch launches[static LAUNCH_HISTORY_BLOCK]);
void launch_history_saved(struct launch_history *history);

/* Loads one launch of a saved block. 0; -EINVAL: no saved launch; -ENOMEM. */
int launch_history_load(struct launch_history *history, const struct launch *launch);

#endif
