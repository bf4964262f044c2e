/* The launches of one process that records may still come for: outstanding ones, until they are answered or expire, and
 * retired ones for a while longer; and which blocks of them have changed since they were last saved. Where an order is
 * asked for, it is above those before. Pure; part of the correlator. One thread. */
#ifndef LAUNCH_HISTORY_H
#define LAUNCH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "block_set.h"
#include "launch_map.h"

#define LAUNCH_HISTORY_BLOCK 1024u /* neighbouring correlation ids */

/* Launches arrive, are answered and are forgotten at three places that each move along slowly. */
enum launch_touch {
	LAUNCH_TOUCH_ADD,
	LAUNCH_TOUCH_ANSWER,
	LAUNCH_TOUCH_FORGET,
	LAUNCH_TOUCHES,
};

/* Of retired_max of them each has the slot (order % retired_max). */
struct launch_retired {
	uint64_t order; /* + 1; 0: empty */
	uint32_t correlation_id;
	uint16_t window;
};

/* Embedded. */
struct launch_history {
	struct launch_map map;
	uint32_t nr_outstanding; /* launches not retired */
	uint32_t launches_max, retired_max;
	struct launch_retired *retired; /* owns */
	bool track_changes;
	struct block_set changed;         /* since launch_history_saved() */
	uint64_t touched[LAUNCH_TOUCHES]; /* the block last added to changed from there */
};

/* 0 or -ENOMEM. launch_history_fini() accepts one that failed, and zeroed memory. */
int launch_history_init(struct launch_history *history, uint32_t launches_max, uint32_t retired_max,
			bool track_changes);
void launch_history_fini(struct launch_history *history);

/* Borrowed until the next call that may fail; NULL: not there. */
struct launch *launch_history_find(const struct launch_history *history, uint32_t window,
				   uint32_t correlation_id);

/* No record came of it, and no failure told that none will, though one should. */
bool launch_history_is_unanswered(const struct launch *launch);

/* All below take a launch as launch_history_find() gave it, and return 0 or -ENOMEM: what is to be saved is then not
 * known. */

/* An outstanding launch whose key is not present. -ENOMEM: or it was not added. */
int launch_history_add(struct launch_history *history, const struct launch *launch);

/* Has changed where it stands. */
int launch_history_touch(struct launch_history *history, const struct launch *launch);

/* An outstanding launch was answered, or failed: the one that was retired retired_max launches ago is forgotten. */
int launch_history_retire(struct launch_history *history, struct launch *launch, uint64_t order);

int launch_history_forget(struct launch_history *history, struct launch *launch);

/* If more than launches_max are outstanding, forgets a share of them, oldest first; adds those that were unanswered to
 * *nr_unanswered. -ENOMEM: or none was forgotten. */
int launch_history_expire(struct launch_history *history, uint64_t *nr_unanswered);

/* Forgets all, which counts as no change; returns how many were unanswered. */
uint64_t launch_history_end(struct launch_history *history);

/* Copies the launches of a block; returns their number. */
uint32_t launch_history_block(const struct launch_history *history, uint64_t index,
			      struct launch launches[static LAUNCH_HISTORY_BLOCK]);
void launch_history_saved(struct launch_history *history);

/* A launch of a block that was saved, as it was. 0; -EINVAL: nothing that was; -ENOMEM. */
int launch_history_load(struct launch_history *history, const struct launch *launch);

#endif
