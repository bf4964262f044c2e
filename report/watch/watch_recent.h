/* Chooses the newest collectives of a job for a look at it: those of which all ranks are there, with the times of their
 * kernels where they have some. Sends and receives of three ranks or more are chosen, too: they may be exchanges of all
 * ranks. Pure; one thread. */
#ifndef WATCH_RECENT_H
#define WATCH_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "watch_replay.h"

#include "aggregator/profile/collective_folds.h"

/* A communicator that its first rank has not used for so long is left out. So is one whose first rank has ended while
 * another process of its host runs. */
#define WATCH_RECENT_IDLE_NS 24000000000ull
#define WATCH_RECENT_KINDS   1024u

struct roster;

/* The collectives of the last ns on each communicator with the one before them, and `least` of them at least. A gap in
 * the rows that the profile has ends them. */
struct watch_window {
	uint64_t ns;
	uint32_t least;
};

struct watch_recent {
	struct collective_folds *folds; /* owns; of these collectives alone */
	/* own; those that are compared, of a communicator in its order. rank: the process; kind: below
	 * WATCH_RECENT_KINDS, by function and bytes; communicator: index into keys */
	struct watch_meeting *meetings;
	struct watch_visit *visits;
	/* owns; of each meeting, when its first rank's host called, by that host's clock */
	uint64_t *called_ns;
	uint64_t *keys; /* owns; of the communicators */
	uint32_t nr_meetings, nr_visits, nr_keys;
	uint32_t nr_ranks; /* all ranks of visits are lower */
	bool is_long;      /* the window of a communicator is longer, for so many collectives */
	uint64_t newest;   /* differs if a collective has come, or a communicator is left out */
	/* ranks also wait in sends and receives, or times of kernels and of host calls are mixed: no replay */
	bool others;
};

/* all, roster: what was read of the store; its calls count as not folded. It is not changed. 0 or -ENOMEM; call
 * watch_recent_fini() in either case. */
int watch_recent_choose(const struct collective_folds *all, const struct roster *roster,
			const struct watch_window *window, struct watch_recent *recent);
void watch_recent_fini(struct watch_recent *recent);

#endif
