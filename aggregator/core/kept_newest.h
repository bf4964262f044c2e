/* The newest GPU work of one process, whole, for a look at a job that runs. What is kept of a long run
 * (aggregator/profile/kept_log.h) becomes too thin for that. Room is bounded: when it is full, the oldest block
 * goes, or the older half of what no commit wrote yet. If it fills in less than KEPT_NEWEST_NS, the level rises, and
 * only work in windows of this level is kept from then on (kept_window.h). It never falls.
 * The store has a block for each commit. One thread. */
#ifndef KEPT_NEWEST_H
#define KEPT_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/host_sample.h"

#define KEPT_NEWEST_NS     12000000000ull
#define KEPT_NEWEST_BLOCKS 256u

struct kept_newest {
	struct host_sample *recent; /* owns; since kept_newest_saved() */
	uint32_t nr_recent, room_recent;
	uint32_t first_block, nr_blocks;     /* the store has those from the first one on */
	uint32_t counts[KEPT_NEWEST_BLOCKS]; /* of these blocks, by their number modulo that */
	uint64_t nr_pieces;                  /* in these blocks, and recent */
	uint32_t level;
	uint64_t nr_since,
		since_ns; /* pieces of the filling that goes on, and the end of its first one */
	/* since kept_newest_saved() */
	bool raised;
	bool dropped; /* blocks before the first one must go from the store */
};

/* NULL: out of memory. destroy() accepts NULL. */
struct kept_newest *kept_newest_create(void);
void kept_newest_destroy(struct kept_newest *newest);

/* Keeps a piece that starts in this window, if the level has the window. room: pieces, at least 1. 0 or -ENOMEM. */
int kept_newest_add(struct kept_newest *newest, uint32_t room, uint64_t window,
		    const struct host_sample *piece);

/* Drops all of it. */
void kept_newest_drop(struct kept_newest *newest);

/* The store has written a block of the recent pieces, if there are some, and has dropped blocks. */
void kept_newest_saved(struct kept_newest *newest);

/* The store has blocks below nr_blocks of an earlier time: they go. */
void kept_newest_load(struct kept_newest *newest, uint32_t nr_blocks);

#endif
